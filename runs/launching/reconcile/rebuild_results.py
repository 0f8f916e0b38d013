"""Read the progress and the results of a job that rebuilds a checkpoint from its files."""

from __future__ import annotations

import re
from dataclasses import replace

from runs.checkpoints import size_of
from runs.launching.reconcile.rules import Decision
from runs.models import Rebuild
from workers.attempt import read_json
from workers.executors.states import State

SHA256_LINE = re.compile(r"^sha256 ([0-9a-f]{64})$", re.MULTILINE)
TAIL_BYTES = 4096


def progress_of(rebuild: Rebuild) -> float | None:
    """Return the share of a rebuild that is done, 0 to 1; None before the first report of progress.

    If the progress file holds no valid share, return the stored one.
    """
    progress = read_json(rebuild.progress_file) or {}
    done, total = progress.get("done"), progress.get("of")
    return (
        min(1.0, done / total) if isinstance(done, int) and isinstance(total, int) and total > 0 else rebuild.progress
    )


def result_of(rebuild: Rebuild, decision: Decision | None) -> Decision | None:
    """Return the decision with the results of a rebuild that succeeded: size in bytes, sha256 and progress.

    It becomes FAILED if the program reports success and its folder does not exist. Any other decision is returned
    unchanged.
    """
    if decision is None or decision.state != State.SUCCEEDED:
        return decision
    if not rebuild.folder.is_dir():
        return Decision(State.FAILED, f"the replay ended without creating {rebuild.folder.name}", decision.updates)
    result = {"bytes": size_of(rebuild.folder), "sha256": _sha256(rebuild), "progress": 1.0}
    return replace(decision, updates={**decision.updates, **result})


def _sha256(rebuild: Rebuild) -> str:
    """Return the sha256 of the weights that the program has logged; an empty text if it has logged none."""
    with (rebuild.directory / "log.txt").open("rb") as log:
        log.seek(max(0, log.seek(0, 2) - TAIL_BYTES))
        sums = SHA256_LINE.findall(log.read().decode(errors="replace"))
    return sums[-1] if sums else ""
