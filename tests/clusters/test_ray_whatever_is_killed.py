"""Raylet, head, dashboard, agents, programs and the worker are killed at random moments: no run is lost, none doubled.

ESWEB_RAY_KILLS and ESWEB_CHAOS_SEED set how often and which.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator

import pytest

from runs.models import Attempt, Experiment, Run
from tests.clusters.far import run_far
from tests.clusters.on_ray import OnRay, cluster_of
from tests.clusters.ray import RayHead
from tests.clusters.test_slurm_whatever_is_killed import RESTARTS, TRAINS, Killed, come_to_rest, has_ended, ticks
from tests.workers.attempts import read
from workers.attempt import Process, owner
from workers.executors.states import State

KILLS = int(os.environ.get("ESWEB_RAY_KILLS", "4"))
SEED = int(os.environ.get("ESWEB_CHAOS_SEED", "6"))
KINDS = ("raylet", "head", "dashboard", "agent", "program", "worker")
RUNS = 2


class Chaos:
    """One kind of kill a method."""

    def __init__(self, ray: RayHead, on_ray: OnRay, experiment: Experiment) -> None:
        self.ray, self.on_ray, self.experiment = ray, on_ray, experiment
        self.random, self.left = random.Random(SEED), list[str]()

    def raylet(self) -> None:
        """Ray goes on calling its jobs running. Nothing runs again before somebody starts the head anew."""
        self.ray.kill_raylet()
        ticks(self.random.uniform(0.5, 2.0))
        self.ray.restart()

    def head(self) -> None:
        self.ray.restart()

    def dashboard(self) -> None:
        self.ray.kill_dashboard()
        ticks(0.5)
        self.ray.start_dashboard()

    def agent(self) -> None:
        if (attempt := self._one_that_runs()) and (agent := owner(attempt.directory)):
            agent.send(signal.SIGKILL)

    def program(self) -> None:
        attempt = self._one_that_runs()
        beat = attempt.directory / "heartbeat.json" if attempt else None
        if beat and beat.exists() and (program := Process.recorded(read(beat))):
            program.send(signal.SIGKILL)

    def worker(self) -> None:
        """Before or after its next submit, whenever that comes."""

        def die() -> None:
            self.on_ray.before_submit = self.on_ray.after_submit = lambda: None
            raise Killed

        setattr(self.on_ray, self.random.choice(["before_submit", "after_submit"]), die)

    def one(self) -> str:
        """Kills something, and says what. Every kind has its turn before one comes again."""
        self.left = self.left or self.random.sample(KINDS, len(KINDS))
        kind = self.left.pop()
        getattr(self, kind)()
        return kind

    def _one_that_runs(self) -> Attempt | None:
        running = list(Attempt.objects.filter(state=State.RUNNING.value).select_related("run").order_by("pk"))
        return self.random.choice(running) if running else None


@pytest.fixture
def chaos(ray: RayHead, on_ray: OnRay, experiment: Experiment) -> Iterator[Chaos]:
    """Ended with what it has begun."""
    # An agent needs some of it to begin.
    cluster_of(ray, beat_lost=10.0)
    on_ray.program = TRAINS
    yield Chaos(ray, on_ray, experiment)
    on_ray.before_submit = on_ray.after_submit = lambda: None


def check(run: Run, story: str) -> None:
    """It has succeeded once, and no two of its trainings ran at once or twice."""
    *earlier, last = run.attempts.order_by("n")
    assert State.SUCCEEDED.value not in [attempt.state for attempt in earlier], story
    assert last.state == State.SUCCEEDED.value, f"{story}: {last.state}, {last.reason}"
    assert read(last.directory / "exit.json")["code"] == 0, story
    assert not (run.root / "doubled").exists(), story
    for attempt in (*earlier, last):
        began = attempt.directory / "started"
        # Empty where the program was killed just before it wrote.
        assert not began.exists() or began.read_text() in ("", "x"), story


def test_no_run_is_lost_and_none_doubled(chaos: Chaos) -> None:
    runs = [run_far(chaos.experiment, restarts=RESTARTS) for _ in range(RUNS)]
    killed = []
    for _ in range(KILLS):
        ticks(chaos.random.uniform(0.2, 3.0))
        killed.append(chaos.one())
        if all(has_ended(run) for run in runs):
            runs += [run_far(chaos.experiment, restarts=RESTARTS) for _ in range(RUNS)]
    story = f"seed {SEED}: {' '.join(killed)}"
    come_to_rest(runs, lambda: None, lambda: f"{story}\n{chaos.ray.ask('GET', '/api/jobs/')}")
    for run in runs:
        check(run, story)
    print(f"{story}: {Attempt.objects.count()} attempts of {len(runs)} runs")
