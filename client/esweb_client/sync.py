"""Send spools of programs that ended before the server had everything. It may be repeated: nothing counts twice."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from esweb_client.connection import MAX_PAUSE_SECONDS, Refusal, Server, Unreachable
from esweb_client.endings import read_end
from esweb_client.leftovers import is_live, is_sent, search_spools
from esweb_client.registration import LostIdentity, read_request
from esweb_client.sender import Sender

SENT, KNOWN_SENT, LIVE, FAILED = "sent", "already sent", "still written", "failed"
TRIES = 6
"""Tries in a row for one spool, with pauses of 0.5, 1, 2 … seconds between them."""
FINAL_STATUS = (400, 403, 404, 405, 410, 413, 415, 422)
"""Refusals that a repeated request does not change."""


@dataclass(frozen=True)
class SpoolResult:
    """Result for one spool. `status` is sent, already sent, still written or failed; `message` says why it failed.

    A folder that cannot be read has failed too: it may be a spool, or hold some.
    """

    folder: Path
    status: str
    run_id: str
    url: str = ""
    message: str = ""


@dataclass(frozen=True)
class SyncResult:
    """Results of all spools in a folder, in the order of their starts."""

    spools: tuple[SpoolResult, ...]

    @property
    def is_complete(self) -> bool:
        """Return whether the server has every spool of a program that ended."""
        return all(spool.status != FAILED for spool in self.spools)

    def count(self, status: str) -> int:
        """Return the number of spools with this status."""
        return sum(spool.status == status for spool in self.spools)


def sync(
    directory: Path,
    server: tuple[str, str],
    report: Callable[[str], None] = print,
    clean: bool = False,
    *,
    project: str = "",
) -> SyncResult:
    """Send all spools in a folder to the server, given as its address and a token. `report` gets a line for each.

    With `clean`, a spool is deleted once the server has confirmed its end. Spools of living programs are left alone.
    `project` is the experiment of runs whose settings are lost, because a disk was full.
    """
    address, token = server
    results = []
    search = search_spools(directory)
    for folder, error in search.unreadable:
        results.append(SpoolResult(folder, FAILED, folder.name, message=f"the folder cannot be read: {error}"))
        report(_describe(results[-1]))
    for folder in search.spools:
        result = _sync_spool(folder, Server(address.rstrip("/"), token), project)
        report(_describe(result))
        if clean and result.status in (SENT, KNOWN_SENT):
            _delete(folder)
        results.append(result)
    return SyncResult(tuple(results))


def _sync_spool(folder: Path, server: Server, project: str) -> SpoolResult:
    run_id = str(read_request(folder).get("id", folder.absolute().parent.name))
    if is_live(folder):
        return SpoolResult(folder, LIVE, run_id)
    try:
        sender = Sender.of_folder(folder, project)
        if is_sent(folder):
            return SpoolResult(folder, KNOWN_SENT, run_id, sender.url)
        return _send(sender, folder, server, run_id)
    except LostIdentity as error:
        return SpoolResult(folder, FAILED, run_id, message=str(error))
    except OSError as error:
        return SpoolResult(folder, FAILED, run_id, message=f"the spool cannot be read: {error}")


def _send(sender: Sender, folder: Path, server: Server, run_id: str) -> SpoolResult:
    failures = 0
    while True:
        try:
            if not sender.is_registered:
                sender.register(server)
            while sender.send_piece():
                failures = 0
            sender.end(read_end(folder))
            return SpoolResult(folder, SENT, run_id, sender.url)
        except (Refusal, Unreachable) as error:
            failures += 1
            is_final = isinstance(error, Refusal) and error.status in FINAL_STATUS and not sender.is_registered
            if is_final or failures >= TRIES:
                return SpoolResult(folder, FAILED, run_id, sender.url, str(error))
            time.sleep(_pause(error, failures))
        finally:
            sender.close()


def _pause(error: Exception, failures: int) -> float:
    retry_after = error.retry_after if isinstance(error, Refusal) else None
    return retry_after if retry_after is not None else min(MAX_PAUSE_SECONDS, 0.25 * 2.0**failures)


def _describe(result: SpoolResult) -> str:
    details = result.message or result.url
    return f"{result.run_id}: {result.status}" + (f" ({details})" if details else "") + f", {result.folder}"


def _delete(folder: Path) -> None:
    """Delete a spool, and the folder of its run if it was the last."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.parent.rmdir()
    except OSError:
        # It holds other spools, or files of somebody else.
        return
