"""Copy of a remote job's directory, byte for byte, so that code that reads the files need not know they are remote.

Growing files are extended at their end here, so a file's size here shows how far it was fetched, and a copy that was
cut off anywhere continues from there. The exit record is copied last: if it is here, everything is.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workers.attempt import read_json, write_json

STATE_FILE = "mirror.json"
GROWING = re.compile(r"records\.[0-9]{1,9}\.jsonl|log\.txt|slurm\.log")
SMALL = ("claim/owner.json", "heartbeat.json")
MIN_IDLE_LOOKS = 2


@dataclass(frozen=True)
class MirrorState:
    """State of the copy. `seen_at` is this machine's time of the last look, None before the first."""

    seen_at: float | None = None
    is_behind: bool = False
    """More data exists on the remote side than was fetched."""
    idle_looks: int = 0
    """Number of consecutive looks that fetched nothing."""

    @property
    def is_settled(self) -> bool:
        """Return whether recent looks fetched nothing and no data waits to be fetched."""
        return not self.is_behind and self.idle_looks >= MIN_IDLE_LOOKS


def read_state(directory: Path) -> MirrorState | None:
    """Return the state of the copy; None if the directory is not a copy."""
    state = read_json(directory / STATE_FILE)
    return None if state is None else MirrorState(state["seen_at"], state["is_behind"], state["idle_looks"])


def begin(directory: Path) -> None:
    """Mark the directory as a copy of a remote one. Raise OSError."""
    if not (directory / STATE_FILE).exists():
        _write_state(directory, MirrorState())


def sizes(directory: Path) -> dict[str, int]:
    """Return the bytes that were fetched of each growing file."""
    with contextlib.suppress(FileNotFoundError):
        return {e.name: e.stat().st_size for e in os.scandir(directory) if GROWING.fullmatch(e.name) and e.is_file()}
    return {}


def save_look(directory: Path, look: Mapping[str, Any] | None) -> bool:
    """Save what a look returned; None if it returned nothing. Return True if more data is left. Raise OSError.

    Names from the remote side are accepted only if they are known: no other name is joined to a path.
    """
    look = look or {"whole": {}, "pieces": {}, "behind": False}
    added = sum(_add(directory / n, piece) for n, piece in look["pieces"].items() if GROWING.fullmatch(n))
    for name in SMALL:
        _replace(directory / name, look["whole"].get(name))
    is_behind = bool(look["behind"])
    if not is_behind:
        _replace(directory / "exit.json", look["whole"].get("exit.json"))
    previous = read_state(directory) or MirrorState()
    _write_state(directory, MirrorState(time.time(), is_behind, 0 if added else previous.idle_looks + 1))
    return is_behind


def _add(file: Path, piece: Mapping[str, Any]) -> int:
    """Write a piece at its offset and not at the file's end: two processes that fetch the same bytes write the same."""
    data, offset = base64.b64decode(piece["data"]), int(piece["offset"])
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        done = 0
        while done < len(data) and offset <= os.fstat(handle).st_size:
            done += os.pwrite(handle, data[done:], offset + done)
    finally:
        os.close(handle)
    return done


def _replace(file: Path, text: str | None) -> None:
    if text is None or (file.exists() and file.read_text(encoding="utf-8") == text):
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)


def _write_state(directory: Path, state: MirrorState) -> None:
    data = {"seen_at": state.seen_at, "is_behind": state.is_behind, "idle_looks": state.idle_looks}
    write_json(directory / STATE_FILE, data)
