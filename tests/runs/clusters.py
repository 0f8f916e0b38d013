"""This machine as a quick cluster: real queue, real agents, small programs in the trainer's place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from typing import Any

from runs import launch, reconcile
from runs.models import Attempt, Cluster, Experiment, Run
from tests.workers.attempts import PATIENCE_SECONDS, python, until
from workers.config import preset
from workers.executors.base import Observation, Spec
from workers.executors.local import Local

QUICK = launch.Waits(
    grace=PATIENCE_SECONDS,
    beat=0.02,
    settle=1.0,
    exit_record=0.1,
    ambiguous=0.1,
    gone=0.2,
    beat_stale=30.0,
    beat_lost=60.0,
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
    """A run as a form or the API would make it."""
    config = {**preset("es-micro").config, "compute": {"cluster": "local", **compute}}
    return launch.create_run(experiment=experiment, person=experiment.owner, config=config, name="small")


def attempt_of(run: Run) -> Attempt:
    """The run's newest attempt, as it stands in the database now."""
    return Attempt.objects.select_related("run", "cluster").filter(run=run).latest("n")


def ticked(run: Run) -> Attempt:
    """One tick, then the attempt."""
    attempt = attempt_of(run)
    assert reconcile.tick(attempt.cluster)
    return attempt_of(run)


def tick_until(run: Run, *states: str, seconds: float = PATIENCE_SECONDS) -> Attempt:
    """Ticks until the attempt is in one of these states."""
    return until(lambda: (attempt := ticked(run)).state in states and attempt, seconds)  # type: ignore[no-any-return]
