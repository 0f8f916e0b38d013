"""Files that an agent leaves in its attempt's directory."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from workers.attempt import ALREADY_CLAIMED, CLOSED_EPOCH, DUPLICATE, FENCED, claim_path, lease, read_json, write_json

ABSENT = {"pid": 2**22 + 1, "started": "1", "boot": "of no machine"}
"""A process that does not exist: Linux has no such pid."""


def begin(directory: Path, log: str = "slurm.log") -> int | None:
    """Claim the attempt. Return None, or the exit code of an agent that may not begin, which says why in the log."""
    if claim_path(directory).exists():
        return _refuse(directory, log, DUPLICATE, f"{directory} is {ALREADY_CLAIMED} 1")
    claim_path(directory).mkdir()
    if lease(directory) == CLOSED_EPOCH:
        return _refuse(directory, log, FENCED, "epoch 0 is over")
    write_json(claim_path(directory) / "owner.json", ABSENT)
    return None


def beat(directory: Path) -> None:
    """Write the next heartbeat."""
    last = read_json(directory / "heartbeat.json") or {"n": 0}
    write_json(directory / "heartbeat.json", {**ABSENT, "n": last["n"] + 1})


def end(directory: Path, code: int | None = 0, **more: Any) -> None:
    """Write the exit record, of a program that ended just now."""
    now = time.time()
    usual = {"signal": None, "timed_out": False, "stopped": False, "started_at": now - 1, "ended_at": now}
    write_json(directory / "exit.json", {"code": code, **usual, **more})


def report_checkpoint(directory: Path, step: int) -> None:
    """Save a checkpoint and the record of it, as a trainer does."""
    path = f"checkpoints/step-{step:06}"
    (directory / path).mkdir(parents=True)
    (directory / path / "model.safetensors").write_text("www")
    record = {"seq": 0, "t": time.time(), "kind": "checkpoint", "step": step, "path": path, "bytes": 3}
    with (directory / "records.0.jsonl").open("a") as file:
        file.write(json.dumps({**record, "sha256": "ab" * 32}) + "\n")


def _refuse(directory: Path, log: str, code: int, reason: str) -> int:
    with (directory / log).open("a") as file:
        file.write(f"esweb agent: {reason}\n")
    return code
