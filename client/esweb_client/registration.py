"""What registers the start of a run: read from its spool, rebuilt if that is lost, and sent without what is refused."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from esweb_client.connection import Refusal, Server
from esweb_client.reader import Cursor, read_entries
from esweb_client.settings import DEFAULT_PROJECT, ID
from esweb_client.spool import META, OWNER, RECORDS, RESERVE, read_json, write_json
from esweb_client.version import VERSION

START = re.compile(r"[0-9a-f]{32}")
"""Names that `init` gives the folders of starts."""
SHARED = ("project", "experiment", "name", "group", "method", "seed", "lost_after_seconds")
"""Settings that the starts of a run have in common."""
IDENTITY = ("kind", "project", "experiment", "id", "start", "started_at")
"""Fields without which nothing can be registered."""
MAX_REFUSED = 20


class LostIdentity(ValueError):
    """A spool of which neither a file nor the folder's name says which run it belongs to."""


def read_request(folder: Path) -> dict[str, Any]:
    """Return what `init` stored to register the start; empty if that is missing or damaged."""
    request = read_json(folder / META).get("request")
    is_whole = isinstance(request, dict) and all(request.get(key) for key in ("kind", "id", "start"))
    return request if is_whole and isinstance(request, dict) else {}


def rebuild_request(folder: Path, project: str = "", like: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what registers a start whose `meta.json` is lost, and write that file again if the disk takes it.

    The folders' names give the run and the start. The other settings are those of `like` or of another start of the
    run; the experiment is `project` if given. Raise LostIdentity if the names are not those that `init` gives.
    """
    run_id, start = folder.absolute().parent.name, folder.name
    if not ID.fullmatch(run_id) or not START.fullmatch(start):
        raise LostIdentity(
            f"{META} is missing or damaged, and the folder's name is not of the form RUN/START, START being 32 of 0-9, "
            "a-f: move it to where it was recorded"
        )
    settings = dict(like or _request_of_sibling(folder))
    target: dict[str, Any] = {key: settings[key] for key in SHARED if settings.get(key) is not None}
    if project or not ("project" in target or "experiment" in target):
        target.pop("experiment", None)
        target["project"] = project or os.environ.get("ESWEB_PROJECT", "").strip() or DEFAULT_PROJECT
    request = {
        "kind": "external", **target, "id": run_id, "start": start, "started_at": started_at(folder),
        "program": f"esweb_client {VERSION}",
    }  # fmt: skip
    write_json(folder / META, {"request": request, "rebuilt": True})
    return request


def is_rebuilt(folder: Path) -> bool:
    """Return whether `meta.json` was lost: it is missing, or what is there was rebuilt."""
    return not read_request(folder) or read_json(folder / META).get("rebuilt") is True


def describe_rebuilt(folder: Path, request: Mapping[str, Any]) -> str:
    """Return what is known about a start whose `meta.json` was lost."""
    target = request.get("project") or f"experiment {request.get('experiment')}"
    missing = "" if (folder / RESERVE).exists() else " Records may be missing: the disk had no room for their number."
    return (
        f"{META} of this start was lost. It is rebuilt from the folder's name; the run belongs to {target} unless the "
        f"server knew it before. Its config may be incomplete.{missing}"
    )


def started_at(folder: Path) -> float:
    """Return the Unix time of the start: as `init` stored it, else of the first record, else of its oldest file."""
    stored = read_request(folder).get("started_at")
    if isinstance(stored, (int, float)):
        return float(stored)
    try:
        entries, _ = read_entries(folder / RECORDS, Cursor(), 1)
    except OSError:
        entries = []
    if entries and isinstance(entries[0].body["t"], (int, float)):
        return float(entries[0].body["t"])
    times = [file.stat().st_mtime for file in (folder / OWNER, folder / RECORDS) if file.exists()]
    return min(times, default=time.time())


def register(server: Server, body: dict[str, Any], timeout: float) -> tuple[dict[str, Any], list[str]]:
    """Register a start, without the settings that the server refuses: records matter more than those.

    Return the response, and a sentence for each setting that was left out. Raise Refusal or Unreachable.
    """
    omitted: list[str] = []
    while True:
        try:
            return server.post_json("runs", body, timeout), omitted
        except Refusal as refusal:
            refused = _refused_settings(refusal, body)
            if not refused or len(omitted) > MAX_REFUSED:
                raise
            omitted += [f"The server refused the run's {name}: {reason}" for name, reason in refused.items()]
            body = {name: value for name, value in body.items() if name not in refused}


def _refused_settings(refusal: Refusal, body: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that a refusal names, with the reason; the config if it names none; empty if a request
    without them would be refused too."""
    if refusal.status not in (413, 422):
        return {}
    optional = {name: value for name, value in body.items() if name not in IDENTITY and value}
    named: dict[str, str] = {}
    for path, message in refusal.problems:
        parts = path.split(".")
        name = next((part for part in parts[:2] if part in body), "")
        if name in IDENTITY:
            return {}
        if name in optional:
            named[name] = message
    if not refusal.problems and "config" in optional:
        return {"config": str(refusal)}
    return named


def _request_of_sibling(folder: Path) -> dict[str, Any]:
    """Return what registered another start of the same run; empty if no other has it."""
    for other in sorted(folder.absolute().parent.glob(f"*/{META}")):
        if other.parent.name != folder.name and (request := read_request(other.parent)):
            return request
    return {}
