"""Create runs that programs elsewhere train and report, with configs of any form, and store records of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from runs.ingest import ingest
from runs.models import Attempt, Experiment, Origin, Run, key_of
from runs.models.external import ExternalRun
from tests.runs.attempt_records import answer, lines
from workers.executors.states import State
from workers.records import Alert, Checkpoint, Environment, Gpu, Member, Metric, Population, Record, Status

GIT = {
    "commit": "0123456789abcdef0123456789abcdef01234567", "branch": "main", "dirty": True,
    "remote": "https://git.example.org/lab/train.git",
}  # fmt: skip
HOSTILE_CONFIGS: dict[str, dict[str, Any]] = {
    "empty": {},
    "sections of other types": {
        "model": "gpt2", "task": ["x"], "es": 3, "grpo": "yes", "evaluate": [], "compute": 1, "seed": "a", "probe": 7,
        "evaluation": "none", "tracking": None, "method": {"a": 1}, "learning_rate": 1e-5, "imported": True,
        "a.b": {"": [1, {"c": None}]}, "scorer": [[]], "": "empty key",
    },
    "all sections null": dict.fromkeys(
        ("model", "task", "es", "grpo", "evaluate", "probe", "compute", "seed", "evaluation", "tracking", "method",
         "scorer"),
    ),
    "values of other types": {
        "model": {"path": ["a", {"b": 1}], "revision": {}}, "task": {"name": {"x": 1}, "file": 3},
        "es": {"iterations": "many", "population": None, "sigma": {"a": []}, "alpha": [1]},
        "grpo": {"max_steps": [3], "lora": "x", "vllm": 4}, "ppo": {"steps": {}},
        "compute": {"nodes": "two", "gpus": [1], "cores": None, "cluster": {"a": 1}, "restarts": "3", "gpu_type": []},
        "evaluation": {"every": "x", "prompts": {}, "samples": "3", "temperature": []},
        "evaluate": {"run": 3, "prior_tasks": 7, "steps": {}}, "probe": {"runs": {}, "run": []}, "seed": [0],
        "method": 3, "scorer": {"url": 1}, "imported": {"evaluation_do_sample": "no"},
    },
    "names of tasks": {
        "task": {"name": "safety", "dual": 3, "constraint": []}, "model": {"path": "tiny"}, "method": "ppo",
        "evaluation": {"prompts": 32, "samples": 2, "temperature": 0.5}, "compute": {"gpus": 1e300, "nodes": -1},
    },
    "text that looks like code": {
        "<script>alert(1)</script>": "=cmd|' /C calc'!A0", "task": {"name": "%(x)s{{ 7 }}"}, "%s": "%d", "it's": "\"'",
        "deep": {"a": {"b": {"c": {"d": {"e": [[[[["x"]]]]]}}}}}, "long": "x" * 5000, "note: q": 'a:"b"', "#": [],
    },
}  # fmt: skip
"""Configs as any program may report them, by a name."""
METHODS = ("unknown", "ppo", "es", "grpo", "sft", "dpo_2")


def make_external_run(
    experiment: Experiment,
    *,
    config: Mapping[str, Any] | None = None,
    method: str = "ppo",
    state: str = "running",
    seed: int = -1,
    name: str = "",
    records: Sequence[Record] | None = None,
    **facts: Any,
) -> Run:
    """Create a run that a program elsewhere reports, with one attempt and its records; `reported_records()` by default.

    `facts` replace fields of its ExternalRun.
    """
    owner = experiment.owner
    run = Run.objects.create(
        experiment=experiment, name=name or f"{method} elsewhere", method=method, seed=seed, config=dict(config or {}),
        state=state, created_by=owner,
    )  # fmt: skip
    values: dict[str, Any] = {
        "program": "esweb_client 0.1.0", "host": "node7", "command": "train.py --lr 1e-5", "git": GIT,
        "summary": {"best": 0.5, "notes": ["a", {"b": None}], "done": True},
    }  # fmt: skip
    ExternalRun.objects.create(run=run, owner=owner, **(values | facts))
    start(run, state)
    report(run, reported_records() if records is None else records)
    return run


def start(run: Run, state: str = "running") -> Attempt:
    """Create the next attempt of the run, as a further start of its program."""
    n, now = run.attempts.count() + 1, timezone.now()
    return Attempt.objects.create(
        run=run, n=n, key=key_of(run, n), cluster=None, origin=Origin.EXTERNAL, state=state, native_id=f"start-{n}",
        started_at=now, ended_at=None if state == State.RUNNING else now, drained_at=now,
    )  # fmt: skip


def report(run: Run, records: Sequence[Record]) -> None:
    """Store the records in the run's newest attempt, after those that it has."""
    attempt = run.newest_attempt()
    assert attempt is not None
    file = attempt.record_files.filter(epoch=0).first()
    ingest(attempt, 0, lines(records, file.next_seq if file else 0))


def reported_records() -> list[Record]:
    """Return records of most kinds: metrics, responses, a population, a checkpoint, an environment and an alert."""
    records: list[Record] = [
        Status("training", "epoch 1", 0.25),
        Environment("node7", "Linux", "3.11", cores=4, gpus=(Gpu("H200", 140_000),), packages={"torch": "2.9.0"}),
    ]
    for step in (0, 5):
        records += [
            Metric(
                step, {"reward/mean": -45.0 + step, "kl": step / 100, "accuracy/contains": 0.5}, {"tokens": 9.0 * step}
            ),
            Metric(step, {"loss": 2.0 - step / 10, "train/reward/mean": -40.0 + step}),
            Population(step, (Member(0, -40.0 + step, z=1.0), Member(1, -42.0 + step, z=-1.0))),
            answer(step, "Madrid", parts={"exact": 1.0, "contains": 1.0}, kl=0.2),
            answer(step, "<script>alert(1)</script>", sample=1, parts={"exact": 0.0, "contains": 0.0}),
            answer(step, "Madrid, of course", sample=2, split="train"),
        ]
    return [
        *records,
        Checkpoint(5, "checkpoints/step-000005", 1_550_000, "ab" * 32),
        Alert("warning", "the loss rises", 5),
    ]
