"""Runs with weights on disk: an ES run with its replay log, and a GRPO run."""

from __future__ import annotations

import json
from pathlib import Path

from runs.models import Experiment, Run, checkpoint_folder
from tests.runs.attempt_records import make_attempt
from tests.runs.full_runs import make_run, record
from workers.checkpoint_folders import TRAINER
from workers.records import Checkpoint, Member, Population

BYTES = 1000


def es_run(experiment: Experiment, steps: tuple[int, ...] = (2, 4), state: str = "succeeded") -> Run:
    """Return a run that has logged four updates, and saved these steps; step 3 after an update of another log."""
    run = _run(experiment, "es-micro", state)
    attempt = run.newest_attempt()
    assert attempt is not None
    attempt.directory.mkdir(parents=True)
    lines = [{"start": 0, "lineage": "a0", "base_path": "/models/tiny"}]
    lines += [{"step": n, "parent": f"a{n - 1}", "lineage": f"a{n}", "seeds": [1]} for n in range(1, 5)]
    torn = b'\n{"step":5,"parent":"a4","lineage":"a5","se'
    text = "".join(f"\n{json.dumps(line, separators=(',', ':'))}" for line in lines)
    (attempt.directory / "replay.jsonl").write_bytes(text.encode() + torn)
    for step in steps:
        folder = _save(run, step)
        lineage = "b3" if step == 3 else f"a{step}"
        (folder / "es-state.json").write_text(json.dumps({"step": step, "lineage": lineage}))
    return run


def grpo_run(experiment: Experiment, state: str = "interrupted") -> Run:
    """Return a run that has saved steps 2 and 4, the latter with what a resume needs."""
    run = _run(experiment, "grpo-micro", state)
    _save(run, 2)
    trainer = _save(run, 4) / TRAINER
    trainer.mkdir()
    (trainer / "trainer_state.json").write_bytes(b"s" * BYTES)
    return run


def _run(experiment: Experiment, preset: str, state: str) -> Run:
    run = make_run(experiment, preset, 0, state)
    attempt = run.newest_attempt() or make_attempt(run)
    run.attempts.filter(pk=attempt.pk).update(state=state)
    record(run, [Population(4, (Member(0, -1.0, z=1.0),))])
    return run


def _save(run: Run, step: int) -> Path:
    attempt = run.newest_attempt()
    assert attempt is not None
    folder = checkpoint_folder(attempt.directory, step)
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"w" * BYTES)
    record(run, [Checkpoint(step, f"checkpoints/{folder.name}", BYTES, "ab" * 32)])
    return folder
