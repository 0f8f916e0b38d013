"""Attempts and records for tests, made without a trainer."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import User

from runs.models import Attempt, Cluster, Experiment, Run
from workers.records import Line, Metric, Record, Response

NOON = 1_700_000_000.0


def make_run(experiment: Experiment, name: str = "es 0") -> Run:
    """Create a run without attempts."""
    owner = User.objects.get(pk=experiment.owner_id)
    config = {"method": "es", "seed": 0, "es": {}}
    return Run.objects.create(experiment=experiment, name=name, method="es", seed=0, config=config, created_by=owner)


def make_attempt(run: Run, n: int = 1, state: str = "running") -> Attempt:
    """Create attempt `n` of a run on this machine."""
    cluster, _ = Cluster.objects.get_or_create(name="local", defaults={"kind": "local"})
    return Attempt.objects.create(run=run, n=n, key=f"esweb-{run.uid}-a{n}", cluster=cluster, state=state)


def lines(records: Iterable[Record], first: int = 0) -> list[Line]:
    """Records as the lines of a file, a second apart."""
    return [Line(seq, NOON + seq, record) for seq, record in enumerate(records, first)]


def metrics(count: int, first: int = 0, key: str = "reward/mean") -> list[Line]:
    """Return `count` lines whose step is their seq and whose value is its square."""
    return lines((Metric(s, {key: float(s * s)}, {"tokens": 10.0 * s}) for s in range(first, first + count)), first)


def answer(step: int = 0, text: str = "Madrid", **fields) -> Response:
    """Return a response record."""
    values = {"split": "eval", "prompt_id": "spain", "sample": 0, "tokens": 3, "reward": -1.0}
    values |= {"prompt": "Capital of Spain?", "target": "Madrid"}
    return Response(step=step, text=text, **(values | fields))
