"""Controller, nodes, agents, programs and the worker are killed at random moments: no run is lost, none doubled.

`make test` kills twice, by one seed; `make soak PART=slurm` goes on for its duration, by another seed, here and over
SSH.
"""

from __future__ import annotations

import contextlib
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from runs.launching import reconcile
from runs.models import Attempt, Cluster, Experiment, Run
from tests import soaking
from tests.clusters.far_slurm import Far, run_far, sweep_far, there
from tests.clusters.slurm import SlurmCluster
from tests.clusters.slurm.config import NODES
from tests.runs.local_cluster import attempt_of
from tests.waiting import wait_until
from tests.workers.attempts import read
from workers.attempt import Process, owner
from workers.executors.states import State

SEED, KILLS = soaking.seed(41), 2
"""By this seed the controller is killed, then an agent."""
KINDS = ("controller", "node", "agent", "program", "worker")
SETTLING_SECONDS = 90.0
"""The part of a soak's time that is kept for the runs to end after the last kill."""
REGISTER_EVERY = 60
"""Looks at the runs, some 15 s of them, after which nodes are asked which jobs they have lost."""
RUNS = 4
WAYS = ["here", "ssh"] if soaking.SECONDS else ["here"]
RESTARTS = 100
PAUSE_SECONDS = 0.1
TRAINS = """
import fcntl, time
alone = open('../alone', 'a')
try:
    fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    open('../doubled', 'a').write('x')
open('started', 'a').write('x')
time.sleep(2)
"""
"""A training of two seconds that notices another one of its run, and counts how often its attempt was started."""


class Killed(BaseException):
    """Stands for the worker dying at this line."""


class Chaos:
    """One kind of kill a method."""

    def __init__(self, slurm: SlurmCluster, far: Far, experiment: Experiment) -> None:
        self.slurm, self.far, self.experiment = slurm, far, experiment
        self.random, self.left = random.Random(SEED), list[str]()
        self.runs: list[Run] = []
        self.looks = 0

    def controller(self) -> None:
        self.slurm.kill_controller()
        self.slurm.start_controller()

    def node(self) -> None:
        n = self.random.randint(1, NODES)
        self.slurm.kill_node(n)
        self.slurm.start_node(n)

    def agent(self) -> None:
        self._kill(lambda attempt: owner(there(attempt)))

    def program(self) -> None:
        self._kill(lambda attempt: program_in(there(attempt)))

    def worker(self) -> None:
        """Before or after its next sbatch, whenever that comes."""

        def die() -> None:
            self.far.before_submit = self.far.after_submit = lambda: None
            raise Killed

        setattr(self.far, self.random.choice(["before_submit", "after_submit"]), die)

    def one(self) -> str:
        """Kill something, and return what. Every kind has its turn before one comes again."""
        self.keep_going()
        self.left = self.left or self.random.sample(KINDS, len(KINDS))
        kind = self.left.pop()
        getattr(self, kind)()
        return kind

    def keep_going(self) -> None:
        """Resume drained nodes; launch more where all runs have ended: by turns a sweep, which is one array, and single
        runs."""
        self.slurm.resume_nodes()
        if not all(has_ended(run) for run in self.runs):
            return
        if len(self.runs) // RUNS % 2 == 0:
            self.runs += sweep_far(self.experiment, RUNS, restarts=RESTARTS)
        else:
            self.runs += [run_far(self.experiment, restarts=RESTARTS) for _ in range(RUNS)]

    def settle(self) -> None:
        """Have Slurm find out what the last kills did: they too may have had a node drained or lose a job."""
        self.slurm.resume_nodes()
        self.looks += 1
        if self.looks % REGISTER_EVERY == 0:
            self.slurm.register_nodes()

    def _kill(self, process_of: Callable[[Attempt], Process | None]) -> None:
        self.random.choice(await_living(process_of, self.keep_going)).send(signal.SIGKILL)


@pytest.fixture
def chaos(slurm: SlurmCluster, far: Far, experiment: Experiment) -> Iterator[Chaos]:
    """Ended with what it has begun."""
    far.program = TRAINS
    yield Chaos(slurm, far, experiment)
    far.before_submit = far.after_submit = lambda: None


def tick_for(seconds: float) -> None:
    """Tick as a worker does, for so long: kills fall at random moments of the runs."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        tick_once()
        time.sleep(PAUSE_SECONDS)  # noqa: TID251  (lets time pass between two kills, and awaits nothing)


def tick_once() -> None:
    """Tick once; a worker that dies in it is started again by the next call."""
    with contextlib.suppress(Killed):
        reconcile.reconcile_cluster(Cluster.objects.get(name="far"))


def await_living(process_of: Callable[[Attempt], Process | None], keep_going: Callable[[], None]) -> list[Process]:
    """Tick until attempts run that have such a process; return those processes."""

    def living() -> list[Process]:
        tick_once()
        keep_going()
        running = Attempt.objects.filter(state=State.RUNNING.value).select_related("run", "cluster").order_by("pk")
        return [process for attempt in running if (process := process_of(attempt)) and process.is_alive()]

    return wait_until(living, "an attempt to run")


def program_in(directory: Path) -> Process | None:
    """The program of the attempt in that directory, or None where none has begun."""
    beat = directory / "heartbeat.json"
    return Process.recorded(read(beat)) if beat.exists() else None


def has_ended(run: Run) -> bool:
    newest = attempt_of(run)
    return State(newest.state).is_final and newest.restart_at is None


def come_to_rest(runs: Sequence[Run], tend: Callable[[], None], story: Callable[[], str]) -> None:
    """Tick and tend the cluster until every run has ended."""

    def ends(run: Run) -> bool:
        tick_once()
        tend()
        return has_ended(run)

    def details() -> str:
        newest = [attempt_of(run) for run in runs if not has_ended(run)]
        return f"{[f'{a.key}: {a.state}, {a.reason}' for a in newest]}\n{story()}"

    for run in runs:
        wait_until(partial(ends, run), f"run {run.uid} to end", details=details)


def check(run: Run, story: str) -> None:
    """Its end is true, and no two of its trainings ran at once or twice."""
    *earlier, last = run.attempts.order_by("n")
    assert State.SUCCEEDED.value not in [attempt.state for attempt in earlier], story
    assert last.state == State.SUCCEEDED.value, f"{story}: {last.reason}"
    assert read(there(last) / "exit.json")["code"] == 0, story
    assert not (run.root / "doubled").exists(), story
    for attempt in (*earlier, last):
        began = there(attempt) / "started"
        # Empty where the program was killed just before it wrote.
        assert not began.exists() or began.read_text() in ("", "x"), story


@pytest.mark.parametrize("reached", WAYS, indirect=True)
def test_no_run_is_lost_and_none_doubled(chaos: Chaos) -> None:
    chaos.keep_going()
    killed = []
    for _ in soaking.rounds(KILLS, "kills", settling_seconds=SETTLING_SECONDS):
        tick_for(chaos.random.uniform(0.2, 2.0))
        killed.append(chaos.one())
    story = f"seed {SEED}: {' '.join(killed)}"
    come_to_rest(chaos.runs, chaos.settle, lambda: f"{story}\n{chaos.slurm.told()}")
    for run in chaos.runs:
        check(run, story)
    soaking.count(Attempt.objects.count(), "attempts")
    print(f"{story}: {Attempt.objects.count()} attempts of {len(chaos.runs)} runs")
