"""Worker, nodes, agents and programs die in a random order on fakes: every run succeeds once.

`make soak PART=slurm` and `PART=ray` do the same to a real Slurm and a real Ray.
"""

from __future__ import annotations

import contextlib
import random
from typing import Any

import pytest

from runs.clusters import executor_for
from runs.launching import reconcile
from runs.models import Experiment, Run
from tests import soak_plugin
from tests.clusters.fakes.far import Far
from tests.clusters.scripted_slurm import launch_run, launch_sweep, set_timeouts
from tests.runs.local_cluster import attempt_of
from workers.executors.states import State

SEED, FAULTS, RESTARTS = soak_plugin.seed(41), 7, 100
WAITING, RUNNING = ("PENDING",), ("RUNNING",)


class Killed(BaseException):
    """Raised to simulate the worker dying at this line."""


class Faults:
    """Faults on a cluster, a method for each kind. Programs end when the test lets them."""

    def __init__(self, far: Far, experiment: Experiment, patch: pytest.MonkeyPatch) -> None:
        self.far, self.random, self.patch = far, random.Random(SEED), patch
        self.succeeded: list[str] = []
        sweep = [] if far.kind == "ray" else launch_sweep(experiment, 2, restarts=RESTARTS)
        self.runs = [*sweep, *(launch_run(experiment, restarts=RESTARTS) for _ in range(2))]

    def worker(self) -> None:
        """Let the worker die before or after its next submit."""
        executor, is_late = type(executor_for(self.far.row)), self.random.random() < 0.5
        for name in ("submit", "submit_together"):
            if real := getattr(executor, name, None):
                self.patch.setattr(executor, name, self._dying(executor, name, real, is_late))

    def lost_reply(self) -> None:
        self.random.choice([self.far.fake.lose_submit, self.far.fake.lose_reply_to_submit])()

    def node(self) -> None:
        """Let a node be lost with the program on it."""
        if key := self._running():
            is_ray = self.far.kind == "ray"
            kind = ("FAILED", "gone", "JOB_SUPERVISOR_ACTOR_DIED") if is_ray else ("NODE_FAIL", "NodeDown")
            self.far.fake.end(key, *kind)

    def agent(self) -> None:
        if key := self._running():
            self.far.fake.end(key, "FAILED")

    def program(self) -> None:
        if key := self._running():
            self.far.fake.finish(key, None, signal=9)

    def memory(self) -> None:
        """Let the cluster forget its jobs, and the programs of all end."""
        self.far.fake.forget()

    def silence(self) -> None:
        self.far.fake.is_away = not self.far.fake.is_away

    def tick(self) -> None:
        """Tick once; a worker that dies in it is restarted by the next call."""
        with contextlib.suppress(Killed):
            reconcile.reconcile_cluster(self.far.row)

    def work(self) -> None:
        """Let every job that may start do so, and some of the running ones succeed."""
        for run in self.runs:
            key = attempt_of(run).key
            if self._is(key, WAITING) and not self._is(key, RUNNING):
                self.far.fake.start(key)
            if self._is(key, RUNNING) and self.random.random() < 0.3:
                self.far.fake.finish(key)
                self.succeeded.append(key)

    def _dying(self, executor: type, name: str, real: Any, is_late: bool) -> Any:
        def die(*arguments: Any) -> None:
            self.patch.setattr(executor, name, real)
            if is_late:
                real(*arguments)
            raise Killed

        return die

    def _running(self) -> str:
        keys = [attempt_of(run).key for run in self.runs]
        running = [key for key in keys if self._is(key, RUNNING)]
        return self.random.choice(running) if running else ""

    def _is(self, key: str, words: tuple[str, ...]) -> bool:
        jobs = self.far.fake.jobs_of(key)
        return any((job["status"] if isinstance(job, dict) else job.state) in words for job in jobs)


def has_ended(run: Run) -> bool:
    newest = attempt_of(run)
    return State(newest.state).is_final and newest.restart_at is None


@pytest.mark.parametrize("far", ["slurm", "ray"], indirect=True)
def test_runs_succeed_once_despite_faults(far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    set_timeouts(settle=0.0, exit_record=0.0, ambiguous=0.0, gone=0.0, records=0.0)
    faults, kinds = Faults(far, experiment, monkeypatch), []
    for _ in soak_plugin.rounds(FAULTS, "faults"):
        kinds.append(faults.random.choice(("worker", "lost_reply", "node", "agent", "program", "memory", "silence")))
        getattr(faults, kinds[-1])()
        faults.tick()
        faults.work()
        faults.tick()
    far.fake.is_away, history = False, f"seed {SEED}: {' '.join(kinds)}"
    for _ in range(100):
        if all(map(has_ended, faults.runs)):
            break
        faults.tick()
        faults.work()
    for run in faults.runs:
        *earlier, last = run.attempts.order_by("n")
        assert last.state == State.SUCCEEDED.value, f"{history}: {last.state}, {last.reason}"
        assert State.SUCCEEDED.value not in [attempt.state for attempt in earlier], history
        assert faults.succeeded.count(last.key) == 1, history
