"""The copy of a far job's directory: what it wrote so far, byte for byte, so that all who read files need not know.

Files that grow are added to where they end here, so how far a file is brought is its size, and a copy that was cut off
anywhere goes on from there. The exit record comes last of all: where it is here, everything is.
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
SETTLED_LOOKS = 2


@dataclass(frozen=True)
class Mirrored:
    """How good the copy is. `seen_at` is this machine's time of the last look, None before the first."""

    seen_at: float | None = None
    is_behind: bool = False
    """More is there than was brought."""
    idle_looks: int = 0
    """So many looks in a row have brought nothing."""

    @property
    def is_settled(self) -> bool:
        """True where nothing has come for a while, and nothing waits to be brought."""
        return not self.is_behind and self.idle_looks >= SETTLED_LOOKS


def mirrored(directory: Path) -> Mirrored | None:
    """How good the copy is; None where the directory is no copy."""
    state = read_json(directory / STATE_FILE)
    return None if state is None else Mirrored(state["seen_at"], state["is_behind"], state["idle_looks"])


def begin(directory: Path) -> None:
    """From here on the directory is a copy of one far away. Raises OSError."""
    if not (directory / STATE_FILE).exists():
        _note(directory, Mirrored())


def sizes(directory: Path) -> dict[str, int]:
    """How far each file that grows has been brought."""
    with contextlib.suppress(FileNotFoundError):
        return {e.name: e.stat().st_size for e in os.scandir(directory) if GROWING.fullmatch(e.name) and e.is_file()}
    return {}


def keep(directory: Path, found: Mapping[str, Any] | None) -> bool:
    """Adds what a look has found, None where that was nothing; True where more is there. Raises OSError.

    Names from over there are only taken where they are known ones: none of them is joined to a path otherwise.
    """
    found = found or {"whole": {}, "pieces": {}, "behind": False}
    brought = sum(_add(directory / n, piece) for n, piece in found["pieces"].items() if GROWING.fullmatch(n))
    for name in SMALL:
        _replace(directory / name, found["whole"].get(name))
    is_behind = bool(found["behind"])
    if not is_behind:
        _replace(directory / "exit.json", found["whole"].get("exit.json"))
    before = mirrored(directory) or Mirrored()
    _note(directory, Mirrored(time.time(), is_behind, 0 if brought else before.idle_looks + 1))
    return is_behind


def _add(file: Path, piece: Mapping[str, Any]) -> int:
    """Written at its place and not at the end: of two who bring the same bytes, both write the same."""
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


def _note(directory: Path, state: Mirrored) -> None:
    said = {"seen_at": state.seen_at, "is_behind": state.is_behind, "idle_looks": state.idle_looks}
    write_json(directory / STATE_FILE, said)
