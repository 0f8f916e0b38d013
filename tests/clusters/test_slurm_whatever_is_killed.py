"""Controller, nodes, agents, programs and the worker are killed at random moments: no run is lost, none doubled.

ESWEB_SLURM_KILLS and ESWEB_CHAOS_SEED set how often and which.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from runs import reconcile
from runs.models import Attempt, Cluster, Experiment, Run
from tests.clusters.far import Far, breathe, run_far, sweep_far, there
from tests.clusters.slurm import SlurmCluster
from tests.clusters.slurm.config import NODES
from tests.runs.clusters import attempt_of
from tests.workers.attempts import read
from workers.attempt import Process, owner
from workers.executors.states import State

KILLS = int(os.environ.get("ESWEB_SLURM_KILLS", "10"))
SEED = int(os.environ.get("ESWEB_CHAOS_SEED", "6"))
RUNS = 4
RESTARTS = 100
REST_SECONDS = 600.0
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
        self.random = random.Random(SEED)

    def controller(self) -> None:
        self.slurm.kill_controller()
        self.slurm.start_controller()

    def node(self) -> None:
        n = self.random.randint(1, NODES)
        self.slurm.kill_node(n)
        self.slurm.start_node(n)

    def agent(self) -> None:
        if (attempt := self._one_that_runs()) and (agent := owner(there(attempt))):
            agent.send(signal.SIGKILL)

    def program(self) -> None:
        attempt = self._one_that_runs()
        beat = there(attempt) / "heartbeat.json" if attempt else None
        if beat and beat.exists() and (program := Process.recorded(read(beat))):
            program.send(signal.SIGKILL)

    def worker(self) -> None:
        """Before or after its next sbatch, whenever that comes."""

        def die() -> None:
            self.far.before_submit = self.far.after_submit = lambda: None
            raise Killed

        setattr(self.far, self.random.choice(["before_submit", "after_submit"]), die)

    def one(self) -> str:
        """Kills something, and says what."""
        self.slurm.resume_nodes()
        kind = self.random.choice(["controller", "node", "agent", "program", "worker"])
        getattr(self, kind)()
        return kind

    def _one_that_runs(self) -> Attempt | None:
        running = list(Attempt.objects.filter(state=State.RUNNING.value).select_related("run").order_by("pk"))
        return self.random.choice(running) if running else None


@pytest.fixture
def chaos(slurm: SlurmCluster, far: Far, experiment: Experiment) -> Iterator[Chaos]:
    """Ended with what it has begun."""
    far.program = TRAINS
    yield Chaos(slurm, far, experiment)
    far.before_submit = far.after_submit = lambda: None


def ticks(seconds: float) -> None:
    """What a worker does; one that dies is started again."""
    until_then = time.monotonic() + seconds
    while time.monotonic() < until_then:
        try:
            reconcile.tick(Cluster.objects.get(name="far"))
        except Killed:
            continue
        breathe()


def has_ended(run: Run) -> bool:
    newest = attempt_of(run)
    return State(newest.state).is_final and newest.restart_at is None


def all_ended(runs: Sequence[Run]) -> bool:
    ticks(0.1)
    return all(has_ended(run) for run in runs)


def come_to_rest(runs: Sequence[Run], tend: Callable[[], None], story: Callable[[], str]) -> None:
    """Ticks and tends the cluster until all have ended; says how it stands where they do not."""
    give_up_at = time.monotonic() + REST_SECONDS
    while not all_ended(runs):
        tend()
        left = [f"{a.key}: {a.state}, {a.reason}" for run in runs if not has_ended(run) for a in [attempt_of(run)]]
        assert time.monotonic() < give_up_at, f"not at rest after {REST_SECONDS:g} s: {left}\n{story()}"


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


def some_more(chaos: Chaos, before: int = 0) -> list[Run]:
    """Several at once: by turns as a sweep, which goes as one array, and each by itself."""
    if before // RUNS % 2 == 0:
        return sweep_far(chaos.experiment, RUNS, restarts=RESTARTS)
    return [run_far(chaos.experiment, restarts=RESTARTS) for _ in range(RUNS)]


def test_no_run_is_lost_and_none_doubled(chaos: Chaos) -> None:
    runs = some_more(chaos)
    killed = []
    for _ in range(KILLS):
        ticks(chaos.random.uniform(0.2, 2.0))
        killed.append(chaos.one())
        if all(has_ended(run) for run in runs):
            runs += some_more(chaos, len(runs))
    story = f"seed {SEED}: {' '.join(killed)}"
    # The last blow too may have had a node drained.
    come_to_rest(runs, chaos.slurm.resume_nodes, lambda: f"{story}\n{chaos.slurm.told()}")
    for run in runs:
        check(run, story)
    print(f"{story}: {Attempt.objects.count()} attempts of {len(runs)} runs")
