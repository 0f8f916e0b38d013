"""Files of runs that commands read: logs and checkpoints."""

from __future__ import annotations

import hashlib

from runs.models import Run, checkpoint_folder
from tests.runs.full_runs import record
from workers.records import Checkpoint

WEIGHTS = b"weights" * 100_000
SHA256 = hashlib.sha256(WEIGHTS).hexdigest()


def write_log(run: Run, text: str, n: int = 1) -> None:
    """Append to the log of an attempt."""
    folder = run.attempts.get(n=n).directory
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log.txt").open("a") as log:
        log.write(text)


def save_checkpoint(run: Run, step: int, sha256: str = SHA256) -> None:
    """Save a checkpoint as the trainer does: weights, and a file in a folder of its own."""
    attempt = run.newest_attempt()
    assert attempt is not None
    folder = checkpoint_folder(attempt.directory, step)
    (folder / "master").mkdir(parents=True)
    (folder / "master" / "master.safetensors").write_bytes(b"other")
    (folder / "model.safetensors").write_bytes(WEIGHTS)
    record(run, [Checkpoint(step, f"checkpoints/{folder.name}", len(WEIGHTS), sha256)])
