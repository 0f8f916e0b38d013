"""What the job that rebuilds a checkpoint has left: how far it is, and whether the folder is there."""

from __future__ import annotations

import re
from dataclasses import replace

from runs.checkpoints import size_of
from runs.models import Rebuild
from runs.reconcile.rules import Verdict
from workers.attempt import read_json
from workers.executors.states import State

SAID = re.compile(r"^sha256 ([0-9a-f]{64})$", re.MULTILINE)
TAIL_BYTES = 4096


def progress_of(rebuild: Rebuild) -> float | None:
    """The share that is done, 0 to 1; None before the first word of it."""
    said = read_json(rebuild.progress_file) or {}
    done, of = said.get("done"), said.get("of")
    return min(1.0, done / of) if isinstance(done, int) and isinstance(of, int) and of > 0 else rebuild.progress


def result_of(rebuild: Rebuild, verdict: Verdict | None) -> Verdict | None:
    """The verdict with what came of it; FAILED where the program calls itself done and its folder is not there."""
    if verdict is None or verdict.state != State.SUCCEEDED:
        return verdict
    if not rebuild.folder.is_dir():
        return Verdict(State.FAILED, f"the replay ended without leaving {rebuild.folder.name}", verdict.facts)
    result = {"bytes": size_of(rebuild.folder), "sha256": _sha256(rebuild), "progress": 1.0}
    return replace(verdict, facts={**verdict.facts, **result})


def _sha256(rebuild: Rebuild) -> str:
    """Of the weights, as the program has said it; empty where it has not."""
    with (rebuild.directory / "log.txt").open("rb") as log:
        log.seek(max(0, log.seek(0, 2) - TAIL_BYTES))
        found = SAID.findall(log.read().decode(errors="replace"))
    return found[-1] if found else ""
