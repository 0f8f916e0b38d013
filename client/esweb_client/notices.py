"""Notices to the user of the library: each kind appears once in a process, and none ever raises."""

from __future__ import annotations

import contextlib
import sys
from typing import TextIO

_shown: set[str] = set()


def warn_once(kind: str, message: str) -> None:
    """Print the message on stderr, unless a message of this kind was printed before."""
    if kind not in _shown:
        _shown.add(kind)
        say(message)


def say(message: str, stream: TextIO | None = None) -> None:
    """Print the message on stderr. A closed or full stderr is ignored."""
    # Not through `warnings`: programs turn those into errors, and logging must never raise.
    with contextlib.suppress(Exception):
        print(f"esweb: {message}", file=stream or sys.stderr, flush=True)


def reset_notices() -> None:
    """Forget the messages that were printed: a new run may print each of them again."""
    _shown.clear()
