"""Many runs in every state, as after a year of use; the first of them has long texts in every field."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from runs.models import Attempt, AttemptEvent, Cluster, Experiment, Run, Series, key_of
from workers.config import RunConfig, preset
from workers.executors.states import OPEN_STATES, State

STATES = ("running", "queued", "failed", "succeeded")
"""A crowd of four has one run of each kind that a page speaks of."""
VALUES = {"reward/mean": -40.9, "accuracy/contains": 0.25, "kl": 0.05}
LONG_NAME = "a_name_without_any_place_to_break_it" * 5
LONG_REASON = "ValueError: the reward of a prompt is not a number\n" + "Traceback (most recent call last): " * 60
TAGS = [f"{'a-long-tag-' * 4}{n}" for n in range(5)]
BATCH = 1000


def crowd(experiment: Experiment, count: int, first: int = 0) -> list[Run]:
    """Create `count` runs with the states in turn; seeds count from `first`. It takes a few statements a thousand."""
    config = RunConfig.from_json(preset("es-micro").config).to_json()
    new = [_run(experiment, config, seed) for seed in range(first, first + count)]
    runs = Run.objects.bulk_create(new, batch_size=BATCH)
    cluster, _ = Cluster.objects.get_or_create(name="local", defaults={"kind": "local"})
    attempts = Attempt.objects.bulk_create([_attempt(run, cluster) for run in runs], batch_size=BATCH)
    warned = [AttemptEvent(attempt=a, level="warning", why=f"dead iteration {a.run.seed}") for a in attempts]
    AttemptEvent.objects.bulk_create(warned, batch_size=BATCH)
    measured = [_series(run, key, value) for run in runs for key, value in VALUES.items()]
    Series.objects.bulk_create(measured, batch_size=BATCH)
    return runs


def _run(experiment: Experiment, config: dict, seed: int) -> Run:
    is_long = seed == 0
    return Run(
        experiment=experiment, name=LONG_NAME if is_long else f"es-micro seed {seed}", preset="es-micro", method="es",
        seed=seed, config={**config, "seed": seed}, state=STATES[seed % len(STATES)], created_by=experiment.owner,
        tags=TAGS if is_long else [], note="A long thought. " * 50 if is_long else "",
    )  # fmt: skip


def _attempt(run: Run, cluster: Cluster) -> Attempt:
    now = timezone.now()
    ended = None if State(run.state) in OPEN_STATES else now - timedelta(seconds=run.seed)
    began = None if run.state == "queued" else now - timedelta(hours=3)
    reason = {"failed": LONG_REASON, "queued": "2 of 2 cores are taken"}.get(run.state, "")
    return Attempt(
        run=run,
        n=1,
        key=key_of(run, 1),
        cluster=cluster,
        state=run.state,
        reason=reason,
        started_at=began,
        ended_at=ended,
    )


def _series(run: Run, key: str, value: float) -> Series:
    about = value * (1 + run.seed % 7 / 10)
    return Series(run=run, key=key, points=2, last_step=5, last_value=about, min_value=about, max_value=about)
