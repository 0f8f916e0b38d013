"""This machine as a quick cluster: real queue, real agents, small programs in the trainer's place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from typing import Any

from runs import clusters, launching
from runs.launching import reconcile
from runs.models import Attempt, Cluster, Experiment, Run
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import python
from workers.config import RunConfig, preset
from workers.executors.base import Observation, Spec
from workers.executors.local import Local

QUICK = clusters.Timeouts(
    grace=PATIENCE_SECONDS,
    beat=0.02,
    settle=1.0,
    exit_record=0.1,
    ambiguous=0.1,
    gone=0.2,
    beat_stale=PATIENCE_SECONDS,
    beat_lost=PATIENCE_SECONDS,
    restart=0.05,
)


class Small(Local):
    """The local executor, with one small program for every job. `before_submit` and `after_submit` may die."""

    program = "pass"
    submitted: list[str]
    before_submit: Callable[[], None] = staticmethod(lambda: None)
    after_submit: Callable[[], None] = staticmethod(lambda: None)
    before_poll: Callable[[], None] = staticmethod(lambda: None)

    def submit(self, spec: Spec) -> str:
        self.submitted.append(spec.key)
        self.before_submit()
        native_id = super().submit(replace(spec, argv=tuple(python(self.program))))
        self.after_submit()
        return native_id

    def poll(self, keys: Iterable[str]) -> dict[str, Observation | None]:
        self.before_poll()
        return super().poll(keys)


def quicken(cluster: Cluster, **changes: float) -> None:
    """Patience of tenths of a second, but with programs that save what they have."""
    cluster.config = {"cores": 2, "waits": asdict(replace(QUICK, **changes))}
    cluster.save()


def run_of(experiment: Experiment, **compute: Any) -> Run:
    """Launch a run as a form or the API does."""
    config = {**preset("es-micro").config, "compute": {"cluster": "local", **compute}}
    return launching.create_run(
        experiment=experiment, person=experiment.owner, config=RunConfig.from_json(config), name="small"
    )


def attempt_of(run: Run) -> Attempt:
    """Return the run's newest attempt as it is now in the database."""
    return Attempt.objects.select_related("run", "cluster").filter(run=run).latest("n")


def tick_cluster(cluster: Cluster) -> Cluster:
    """Tick the cluster once, and return its row."""
    assert reconcile.reconcile_cluster(cluster)
    return Cluster.objects.get(pk=cluster.pk)


def tick_once(run: Run) -> Attempt:
    """Tick once, then return the attempt."""
    attempt = attempt_of(run)
    assert reconcile.reconcile_cluster(attempt.cluster)
    return attempt_of(run)


def tick_until(run: Run, *states: str) -> Attempt:
    """Tick until the run's newest attempt is in one of these states, and return that attempt."""
    return tick_until_true(run, f"the newest attempt to be {' or '.join(states)}", lambda a: a.state in states)


def tick_until_true(run: Run, awaited: str, is_true: Callable[[Attempt], object]) -> Attempt:
    """Tick until `is_true` of the run's newest attempt, and return that attempt. `awaited`: see `wait_until`."""

    def newest_if_true() -> Attempt | None:
        attempt = tick_once(run)
        return attempt if is_true(attempt) else None

    return wait_until(newest_if_true, awaited, details=lambda: _summary(attempt_of(run)))


def _summary(attempt: Attempt) -> str:
    return f"{attempt.key} is {attempt.state} ({attempt.native_state!r} on {attempt.cluster}): {attempt.reason}"
