"""Folders of attempts as our own trainer and the agents of a site write them, with a few records of each kind."""

from __future__ import annotations

import json
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

from runs import importing
from runs.importing import ImportResult, ImportTarget
from workers.config import preset
from workers.records import (
    Alert,
    Checkpoint,
    Engine,
    Engines,
    Environment,
    Member,
    Metric,
    Population,
    Record,
    Response,
    Status,
    pack,
)

BEGAN = 1_795_000_000.25
UID = "abcde12345"
DONE = Status("done", progress=1.0)


def config(**changes: Any) -> dict[str, Any]:
    """Return the config of an ES run of three iterations."""
    micro = preset("es-micro").config
    return {**micro, "seed": 5, "es": {**micro["es"], "iterations": 3, "population": 2}, **changes}


def es_records(node: str = "node1") -> list[Record]:
    """Return the records of a run of three iterations that is done. `node` makes their first line its own."""
    records: list[Record] = [
        Environment(node, "Linux", "CPython 3.11", cores=2, packages={"torch": "2.9"}, code="ab" * 32),
        Status("training", "iteration 1", 0.0),
    ]
    for step in (1, 2, 3):
        records += [
            Population(step, (Member(step, -1.5, {"length": 0.25}, -1.0), Member(step + 9, -0.1, {}, 1.0))),
            Metric(step, {"train/reward/mean": -0.1 * step, "es/dead": 0.0, "reward/mean": step / 3}, {"tokens": 9.0}),
            Response(step, "eval", "q1", 0, f"text {step}", 3, -0.5, {"length": 1.0}, 0.125, "Say it", "it"),
        ]
    engine = Engine(0, "ready", "cpu", 2, 9, 0.5)
    return [*records, Engines(3, 40, (engine,)), Alert("warning", "a dead iteration", 3), DONE]


def write_attempt(
    folder: Path, records: list[Record] | None = None, *, code: int | None = 0, epoch: int = 0, **changes: Any
) -> Path:
    """Write a folder of an attempt, with an exit record of that code unless it is None, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [pack(seq, BEGAN + seq, record) for seq, record in enumerate(es_records() if records is None else records)]
    (folder / f"records.{epoch}.jsonl").write_bytes(b"".join(lines))
    (folder / "run.json").write_text(json.dumps(config(**changes)))
    (folder / "log.txt").write_text("step 1\nstep 2\n")
    (folder / "replay.jsonl").write_text('\n{"start":0,"lineage":"a"}\n{"step":1,"parent":"a","lineage":"b"}')
    if code is not None:
        write_exit(folder, code=code)
    return folder


def write_exit(folder: Path, **changes: Any) -> None:
    """Write the exit record of an agent."""
    ending = {"code": 0, "signal": None, "epoch": 0, "started_at": BEGAN - 1, "ended_at": BEGAN + 60,
              "timed_out": False, "stopped": False, **changes}  # fmt: skip
    (folder / "exit.json").write_text(json.dumps(ending))


def write_checkpoint(folder: Path, step: int, weights: bytes = b"weights") -> Checkpoint:
    """Write a checkpoint's folder, and return its record."""
    place = folder / "checkpoints" / f"step-{step:06d}"
    place.mkdir(parents=True)
    (place / "config.json").write_text("{}")
    (place / "model.safetensors").write_bytes(weights)
    (place / "optimizer.pt").write_bytes(b"pickle")
    return Checkpoint(step, f"checkpoints/step-{step:06d}", 2 + len(weights), sha256(weights).hexdigest())


def import_path(path: Path, person: User, name: str = "Folders") -> ImportResult:
    """Import a path into the person's experiment of this name."""
    with ExitStack() as stack:
        return importing.import_runs(importing.files_from_path(path, stack), ImportTarget(person, name))


def remarks_of(imported: ImportResult) -> list[str]:
    """Return all remarks, and the refused files with their reasons."""
    remarks = [str(remark) for outcome in imported.outcomes for remark in outcome.report.remarks]
    return [*remarks, *(f"{refused.name}: {refused.reason}" for refused in imported.refused)]
