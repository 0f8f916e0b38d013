"""Raylet, head, dashboard, agents, programs and the worker are killed at random moments: no run is lost, none doubled.

`make test` kills twice, by one seed; `make soak PART=ray` goes on for its duration, by another seed.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator

import pytest

from runs.models import Attempt, Experiment, Run
from tests import soaking
from tests.clusters.far_slurm import run_far
from tests.clusters.ray import RayHead
from tests.clusters.ray_cluster import OnRay, cluster_of
from tests.clusters.test_slurm_whatever_is_killed import (
    RESTARTS,
    TRAINS,
    Killed,
    await_living,
    come_to_rest,
    has_ended,
    program_in,
    tick_for,
)
from tests.workers.attempts import read
from workers.attempt import Process, owner
from workers.executors.states import State

SEED, KILLS = soaking.seed(25), 2
"""By this seed the worker is killed, then a program: a raylet that is killed has a test of its own."""
SETTLING_SECONDS = 90.0
KINDS = ("raylet", "head", "dashboard", "agent", "program", "worker")
RUNS = 2


class Chaos:
    """One kind of kill a method."""

    def __init__(self, ray: RayHead, on_ray: OnRay, experiment: Experiment) -> None:
        self.ray, self.on_ray, self.experiment = ray, on_ray, experiment
        self.random, self.left = random.Random(SEED), list[str]()
        self.runs: list[Run] = []

    def raylet(self) -> None:
        """Ray goes on calling its jobs running. Nothing runs again before somebody starts the head anew."""
        self.ray.kill_raylet()
        tick_for(self.random.uniform(0.5, 2.0))
        self.ray.restart()

    def head(self) -> None:
        self.ray.restart()

    def dashboard(self) -> None:
        self.ray.kill_dashboard()
        tick_for(0.5)
        self.ray.start_dashboard()

    def agent(self) -> None:
        self._kill(lambda attempt: owner(attempt.directory))

    def program(self) -> None:
        self._kill(lambda attempt: program_in(attempt.directory))

    def worker(self) -> None:
        """Before or after its next submit, whenever that comes."""

        def die() -> None:
            self.on_ray.before_submit = self.on_ray.after_submit = lambda: None
            raise Killed

        setattr(self.on_ray, self.random.choice(["before_submit", "after_submit"]), die)

    def one(self) -> str:
        """Kill something, and return what. Every kind has its turn before one comes again."""
        self.keep_going()
        self.left = self.left or self.random.sample(KINDS, len(KINDS))
        kind = self.left.pop()
        getattr(self, kind)()
        return kind

    def keep_going(self) -> None:
        """Launch more where all runs have ended."""
        if all(has_ended(run) for run in self.runs):
            self.runs += [run_far(self.experiment, restarts=RESTARTS) for _ in range(RUNS)]

    def _kill(self, process_of: Callable[[Attempt], Process | None]) -> None:
        self.random.choice(await_living(process_of, self.keep_going)).send(signal.SIGKILL)


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
    chaos.keep_going()
    killed = []
    for _ in soaking.rounds(KILLS, "kills", settling_seconds=SETTLING_SECONDS):
        tick_for(chaos.random.uniform(0.2, 3.0))
        killed.append(chaos.one())
    story = f"seed {SEED}: {' '.join(killed)}"
    come_to_rest(chaos.runs, lambda: None, lambda: f"{story}\n{chaos.ray.ask('GET', '/api/jobs/')}")
    for run in chaos.runs:
        check(run, story)
    soaking.count(Attempt.objects.count(), "attempts")
    print(f"{story}: {Attempt.objects.count()} attempts of {len(chaos.runs)} runs")
