"""Raylet, head, dashboard, agents, programs and the worker are killed at random times: every run succeeds once.

`make soak PART=ray` runs for its duration, by another seed.
"""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator

import pytest

from runs.models import Attempt, Experiment, Run
from tests import soak_plugin
from tests.clusters.ray import RayHead
from tests.clusters.scripted_ray import ScriptedRay, make_ray_cluster
from tests.clusters.scripted_slurm import launch_run
from tests.clusters.test_slurm_kills import (
    RESTARTS,
    TRAINS,
    Killed,
    has_ended,
    read_program,
    tick_for,
    wait_for_processes,
    wait_until_all_ended,
)
from tests.workers.attempts import read
from workers.attempt import Process, owner
from workers.executors.states import State

pytestmark = pytest.mark.soak
SEED, KILLS = soak_plugin.seed(25), 2
"""The seed with which the worker is killed, then a program: a killed raylet has a test of its own."""
SETTLING_SECONDS = 90.0
KINDS = ("raylet", "head", "dashboard", "agent", "program", "worker")
RUNS = 2


class RayFaults:
    """Kills on Ray, a method for each kind."""

    def __init__(self, ray: RayHead, ray_executor: ScriptedRay, experiment: Experiment) -> None:
        self.ray, self.ray_executor, self.experiment = ray, ray_executor, experiment
        self.random, self.remaining_kinds = random.Random(SEED), list[str]()
        self.runs: list[Run] = []

    def raylet(self) -> None:
        """Kill the raylet and restart the head. Until then Ray reports its jobs as running, and runs nothing."""
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
        self._kill(lambda attempt: read_program(attempt.directory))

    def worker(self) -> None:
        """Let the worker die before or after its next submit."""

        def die() -> None:
            self.ray_executor.before_submit = self.ray_executor.after_submit = lambda: None
            raise Killed

        setattr(self.ray_executor, self.random.choice(["before_submit", "after_submit"]), die)

    def kill_one(self) -> str:
        """Kill one victim, and return its kind. Every kind is used before one is repeated."""
        self.launch_if_idle()
        self.remaining_kinds = self.remaining_kinds or self.random.sample(KINDS, len(KINDS))
        kind = self.remaining_kinds.pop()
        getattr(self, kind)()
        return kind

    def launch_if_idle(self) -> None:
        """Launch more runs if all have finished."""
        if all(has_ended(run) for run in self.runs):
            self.runs += [launch_run(self.experiment, restarts=RESTARTS) for _ in range(RUNS)]

    def _kill(self, process_of: Callable[[Attempt], Process | None]) -> None:
        self.random.choice(wait_for_processes(process_of, self.launch_if_idle)).send(signal.SIGKILL)


@pytest.fixture
def faults(ray: RayHead, ray_executor: ScriptedRay, experiment: Experiment) -> Iterator[RayFaults]:
    """Yield the faults, and reset the executor at the end."""
    # An agent needs some of this time to start.
    make_ray_cluster(ray, beat_lost=10.0)
    ray_executor.program = TRAINS
    yield RayFaults(ray, ray_executor, experiment)
    ray_executor.before_submit = ray_executor.after_submit = lambda: None


def check(run: Run, history: str) -> None:
    """Check that the run has succeeded once, and that no two of its trainings ran concurrently or twice."""
    *earlier, last = run.attempts.order_by("n")
    assert State.SUCCEEDED.value not in [attempt.state for attempt in earlier], history
    assert last.state == State.SUCCEEDED.value, f"{history}: {last.state}, {last.reason}"
    assert read(last.directory / "exit.json")["code"] == 0, history
    assert not (run.root / "doubled").exists(), history
    for attempt in (*earlier, last):
        started_file = attempt.directory / "started"
        # The file is empty if the program was killed just before it wrote.
        assert not started_file.exists() or started_file.read_text() in ("", "x"), history


def test_ray_runs_succeed_once_despite_kills(faults: RayFaults) -> None:
    faults.launch_if_idle()
    killed_kinds = []
    for _ in soak_plugin.rounds(KILLS, "kills", settling_seconds=SETTLING_SECONDS):
        tick_for(faults.random.uniform(0.2, 3.0))
        killed_kinds.append(faults.kill_one())
    history = f"seed {SEED}: {' '.join(killed_kinds)}"
    wait_until_all_ended(faults.runs, lambda: None, lambda: f"{history}\n{faults.ray.ask('GET', '/api/jobs/')}")
    for run in faults.runs:
        check(run, history)
    soak_plugin.count(Attempt.objects.count(), "attempts")
    print(f"{history}: {Attempt.objects.count()} attempts of {len(faults.runs)} runs")
