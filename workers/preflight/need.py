"""One need of a run, and whether the machine meets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "missing", "unknown"]
OK: State = "ok"
MISSING: State = "missing"
UNKNOWN: State = "unknown"


@dataclass(frozen=True)
class Need:
    """A need: its name, its state, a sentence about it, and what to do if it is not met.

    unknown: it cannot be known before the run starts, as for a model that is to be downloaded.
    """

    name: str
    state: State
    sentence: str
    remedy: str = ""
