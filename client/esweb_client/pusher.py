"""The thread that sends a run to the server while it is written. Any error makes it wait, never the training."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from esweb_client.connection import MAX_PAUSE_SECONDS, Refusal, Server, Unreachable
from esweb_client.endings import read_end
from esweb_client.notices import warn_once
from esweb_client.registration import LostIdentity
from esweb_client.sender import Sender
from esweb_client.state import State

EVERY_SECONDS = 0.25
MAX_SLOWNESS = 4.0
CHANGES_SECONDS = 1.0
REQUEST_SECONDS = 30.0
MAX_HEARTBEAT_SECONDS = 15.0
TEMPORARY = (401, 403, 404, 408, 429)
"""Refusals that a new token or time can change."""
MAX_ENDING_PAUSE_SECONDS = 2.0
"""Longest pause between two tries at the end of a run, so that a server that comes back is not missed."""


class Pusher:
    """Sender of a run's own spool, and of those that earlier starts of the run left behind."""

    def __init__(
        self,
        sender: Sender,
        state: State,
        find_server: Callable[[], Server],
        leftovers: Callable[[], list[Path]],
        lost_after_seconds: float,
    ) -> None:
        self.sender, self.state = sender, state
        self.is_done = False
        self.problem = ""
        """The reason why the last try failed; empty after one that succeeded."""
        self.failures = 0
        self._find_server, self._leftovers = find_server, leftovers
        self._older: list[Sender] | None = None
        self._heartbeat_seconds = min(MAX_HEARTBEAT_SECONDS, lost_after_seconds / 4)
        self._contact_at = self._changes_at = 0.0
        self._ending = threading.Event()
        self._end: dict[str, Any] = {}
        self._deadline = float("inf")
        self._slowness = 1.0
        self._thread = threading.Thread(target=self._run, name="esweb-push", daemon=True)

    def start(self, ready: threading.Event, patience: float = 5.0) -> None:
        """Start to send once `ready` is set: the machine and the code are described by then."""
        self._ready, self._patience = ready, patience
        self._thread.start()

    def finish(self, end: dict[str, Any], seconds: float) -> bool:
        """Send the rest and the end, for so many seconds at most. Return whether the server has everything."""
        self._end, self._deadline = end, time.monotonic() + seconds
        self.failures = 0
        self._ending.set()
        self._thread.join(max(0.0, seconds))
        return self.is_done

    def _run(self) -> None:
        self._ready.wait(self._patience)
        while not (self.is_done or self._is_late()):
            self._wait(self._try())
        for sender in (self.sender, *(self._older or ())):
            sender.close()

    def _wait(self, seconds: float) -> None:
        """Wait for the next try. The end of the run interrupts the wait that it meets, and none after that."""
        if not self._ending.is_set():
            self._ending.wait(seconds)
        elif seconds:
            time.sleep(max(0.0, min(seconds, self._deadline - time.monotonic())))

    def _is_late(self) -> bool:
        return time.monotonic() > self._deadline

    def _try(self) -> float:
        """Do what is due. Return the seconds to wait before the next try."""
        try:
            has_more = self._step()
        except Refusal as refusal:
            self.problem = f"the server refused: {refusal}"
            if refusal.retry_after is not None:
                # A server that is busy with many runs gets fewer and larger pushes from each.
                self._slowness = min(MAX_SLOWNESS, 2 * self._slowness)
                return max(EVERY_SECONDS, refusal.retry_after)
            self._warn(f"refusal {refusal.status}", f"{self.problem}. Records wait in the spool.")
        except Unreachable as error:
            self.problem = f"the server cannot be reached: {error}"
            self._warn("away", f"{self.problem}. Records wait in the spool.")
        except Exception as error:
            # An error here must not end the thread: the rest of the run would never be sent.
            self.problem = f"records could not be pushed ({type(error).__name__}: {error})"
            self._warn("push", f"{self.problem}; trying again")
        else:
            self.failures, self.problem = 0, ""
            self._slowness = max(1.0, 0.7 * self._slowness)
            # The pauses vary, so that trainings that started together do not push together.
            return 0.0 if has_more else EVERY_SECONDS * self._slowness * random.uniform(0.75, 1.25)
        self.failures += 1
        longest = min(MAX_PAUSE_SECONDS, MAX_ENDING_PAUSE_SECONDS if self._ending.is_set() else MAX_PAUSE_SECONDS)
        return float(min(longest, EVERY_SECONDS * 2 ** min(self.failures, 10)))

    def _warn(self, kind: str, message: str) -> None:
        # After the deadline, `finish` has said what the user needs to know.
        if not self._is_late():
            warn_once(kind, message)

    def _step(self) -> bool:
        """Send the most urgent part. Return whether more is waiting. Raise Refusal or Unreachable."""
        is_ending = self._ending.is_set()
        if not self.sender.is_registered:
            self._register()
        # Records come first: nothing that is wrong with a change may stop them.
        if self.sender.send_piece(self._timeout):
            self._contact_at = time.monotonic()
            if is_ending or self.sender.is_behind:
                return True
        if self._is_due(is_ending):
            self._report_changes()
            return is_ending
        if is_ending:
            self.sender.end(self._end, self._timeout)
            self.is_done = True
            return False
        return self._send_older()

    def _register(self) -> None:
        server = self._find_server()
        if self._older is None:
            # Earlier starts are registered first, so that the attempts are numbered in the order of the starts.
            self._older = list(self._open_leftovers())
        for older in list(self._older):
            if not older.attempt:
                self._try_older(older, lambda: older.register(server, self._timeout))  # noqa: B023
        self.sender.register(server, self._timeout)
        self._contact_at = time.monotonic()

    def _open_leftovers(self) -> Iterator[Sender]:
        for folder in self._leftovers():
            try:
                yield Sender.of_folder(folder, like=self.sender.request)
            except LostIdentity as error:
                warn_once("older", f"an earlier start of the run stays in {folder}: {error}")

    def _is_due(self, is_ending: bool) -> bool:
        """Return whether to send a heartbeat: after a change, and after a long silence."""
        now = time.monotonic()
        if self.state.has_changes and (is_ending or now - self._changes_at >= CHANGES_SECONDS):
            return True
        return now - self._contact_at >= self._heartbeat_seconds

    def _report_changes(self) -> None:
        changes = self.state.take_changes()
        try:
            self.sender.heartbeat(changes, self._timeout)
        except (Refusal, Unreachable) as error:
            if not _is_final(error):
                self.state.restore_changes(changes)
                raise
            self._report_one_by_one(changes)
        self._contact_at = self._changes_at = time.monotonic()

    def _report_one_by_one(self, changes: dict[str, Any]) -> None:
        """Report each change alone. What the server can never store stops neither the others nor the records."""
        left = dict(changes)
        for name, value in changes.items():
            try:
                self.sender.heartbeat({name: value}, self._timeout)
            except (Refusal, Unreachable) as error:
                if not _is_final(error):
                    self.state.restore_changes(left)
                    raise
                self.sender.note(f"The server refused a change of the run's {name}: {error}")
            del left[name]

    def _send_older(self) -> bool:
        """Send one piece of what an earlier start left behind. Return whether there may be more."""
        if not self._older:
            return False
        older = self._older[0]
        self._try_older(older, lambda: self._send_piece_of(older))
        return True

    def _send_piece_of(self, older: Sender) -> None:
        assert self._older is not None and older.folder is not None  # noqa: S101 (read from a folder)
        if not older.is_registered:
            older.register(self._find_server(), self._timeout)
        if not older.send_piece(self._timeout):
            older.end(read_end(older.folder), self._timeout)
            older.close()
            self._older.remove(older)

    def _try_older(self, older: Sender, work: Callable[[], None]) -> None:
        """Do the work. What the server will never take stays in its folder, and must not stop the run itself."""
        try:
            work()
        except (Refusal, OSError) as error:
            if isinstance(error, Refusal) and not _is_final(error):
                raise
            assert self._older is not None  # noqa: S101 (its callers have read them)
            self._older.remove(older)
            why = "the server refused it" if isinstance(error, Refusal) else "it cannot be read"
            warn_once("older", f"an earlier start of the run stays in {older.folder}, because {why}: {error}")

    @property
    def _timeout(self) -> float:
        return min(REQUEST_SECONDS, max(1.0, self._deadline - time.monotonic()))


def _is_final(error: Exception) -> bool:
    """Return whether a repeated request would be refused again."""
    return isinstance(error, Refusal) and 400 <= error.status < 500 and error.status not in TEMPORARY
