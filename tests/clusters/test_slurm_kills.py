"""Controller, nodes, agents, programs and the worker are killed at random times: every run succeeds once.

`make soak PART=slurm` runs for its duration, by another seed, here and over SSH.
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
from tests import soak_plugin
from tests.clusters.scripted_slurm import ScriptedSlurm, cluster_directory, launch_run, launch_sweep
from tests.clusters.slurm import SlurmCluster
from tests.clusters.slurm.config import NODES
from tests.runs.local_cluster import attempt_of
from tests.waiting import wait_until
from tests.workers.attempts import read
from workers.attempt import Process, owner
from workers.executors.states import State

pytestmark = pytest.mark.soak
SEED, KILLS = soak_plugin.seed(41), 2
"""The seed with which the controller is killed, then an agent."""
KINDS = ("controller", "node", "agent", "program", "worker")
SETTLING_SECONDS = 90.0
"""The part of a soak's time that is reserved for the runs to finish after the last kill."""
REGISTER_INTERVAL = 60
"""Number of checks of the runs, about 15 s, after which nodes must report their lost jobs."""
RUNS = 4
ACCESS_MODES = ["here", "ssh"] if soak_plugin.SECONDS else ["here"]
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
    """Raised to simulate the worker dying at this line."""


class SlurmFaults:
    """Kills on Slurm, a method for each kind."""

    def __init__(self, slurm: SlurmCluster, slurm_executor: ScriptedSlurm, experiment: Experiment) -> None:
        self.slurm, self.slurm_executor, self.experiment = slurm, slurm_executor, experiment
        self.random, self.remaining_kinds = random.Random(SEED), list[str]()
        self.runs: list[Run] = []
        self.settle_count = 0

    def controller(self) -> None:
        self.slurm.kill_controller()
        self.slurm.start_controller()

    def node(self) -> None:
        n = self.random.randint(1, NODES)
        self.slurm.kill_node(n)
        self.slurm.start_node(n)

    def agent(self) -> None:
        self._kill(lambda attempt: owner(cluster_directory(attempt)))

    def program(self) -> None:
        self._kill(lambda attempt: read_program(cluster_directory(attempt)))

    def worker(self) -> None:
        """Let the worker die before or after its next sbatch."""

        def die() -> None:
            self.slurm_executor.before_submit = self.slurm_executor.after_submit = lambda: None
            raise Killed

        setattr(self.slurm_executor, self.random.choice(["before_submit", "after_submit"]), die)

    def kill_one(self) -> str:
        """Kill one victim, and return its kind. Every kind is used before one is repeated."""
        self.launch_if_idle()
        self.remaining_kinds = self.remaining_kinds or self.random.sample(KINDS, len(KINDS))
        kind = self.remaining_kinds.pop()
        getattr(self, kind)()
        return kind

    def launch_if_idle(self) -> None:
        """Resume drained nodes. If all runs have finished, launch a sweep (one array) and single runs alternately."""
        self.slurm.resume_nodes()
        if not all(has_ended(run) for run in self.runs):
            return
        if len(self.runs) // RUNS % 2 == 0:
            self.runs += launch_sweep(self.experiment, RUNS, restarts=RESTARTS)
        else:
            self.runs += [launch_run(self.experiment, restarts=RESTARTS) for _ in range(RUNS)]

    def settle(self) -> None:
        """Let Slurm detect effects of the last kills, which may also have drained a node or lost a job."""
        self.slurm.resume_nodes()
        self.settle_count += 1
        if self.settle_count % REGISTER_INTERVAL == 0:
            self.slurm.register_nodes()

    def _kill(self, process_of: Callable[[Attempt], Process | None]) -> None:
        self.random.choice(wait_for_processes(process_of, self.launch_if_idle)).send(signal.SIGKILL)


@pytest.fixture
def faults(slurm: SlurmCluster, slurm_executor: ScriptedSlurm, experiment: Experiment) -> Iterator[SlurmFaults]:
    """Yield the faults, and reset the executor at the end."""
    slurm_executor.program = TRAINS
    yield SlurmFaults(slurm, slurm_executor, experiment)
    slurm_executor.before_submit = slurm_executor.after_submit = lambda: None


def tick_for(seconds: float) -> None:
    """Tick as a worker does, for so long: kills come at random times of the runs."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        tick_once()
        time.sleep(PAUSE_SECONDS)  # noqa: TID251  (lets time pass between two kills, and awaits nothing)


def tick_once() -> None:
    """Tick once; a worker that dies in it is restarted by the next call."""
    with contextlib.suppress(Killed):
        reconcile.reconcile_cluster(Cluster.objects.get(name="far"))


def wait_for_processes(
    process_of: Callable[[Attempt], Process | None], keep_going: Callable[[], None]
) -> list[Process]:
    """Tick until attempts run that have such a process; return those processes."""

    def find_processes() -> list[Process]:
        tick_once()
        keep_going()
        running = Attempt.objects.filter(state=State.RUNNING.value).select_related("run", "cluster").order_by("pk")
        return [process for attempt in running if (process := process_of(attempt)) and process.is_alive()]

    return wait_until(find_processes, "an attempt to run")


def read_program(directory: Path) -> Process | None:
    """Return the program of the attempt in that directory, or None if none has started."""
    heartbeat = directory / "heartbeat.json"
    return Process.recorded(read(heartbeat)) if heartbeat.exists() else None


def has_ended(run: Run) -> bool:
    newest = attempt_of(run)
    return State(newest.state).is_final and newest.restart_at is None


def wait_until_all_ended(runs: Sequence[Run], settle: Callable[[], None], history: Callable[[], str]) -> None:
    """Tick and call `settle` until every run has finished."""

    def is_finished(run: Run) -> bool:
        tick_once()
        settle()
        return has_ended(run)

    def details() -> str:
        newest = [attempt_of(run) for run in runs if not has_ended(run)]
        return f"{[f'{a.key}: {a.state}, {a.reason}' for a in newest]}\n{history()}"

    for run in runs:
        wait_until(partial(is_finished, run), f"run {run.uid} to end", details=details)


def check(run: Run, history: str) -> None:
    """Check that the run has succeeded once, and that no two of its trainings ran concurrently or twice."""
    *earlier, last = run.attempts.order_by("n")
    assert State.SUCCEEDED.value not in [attempt.state for attempt in earlier], history
    assert last.state == State.SUCCEEDED.value, f"{history}: {last.reason}"
    assert read(cluster_directory(last) / "exit.json")["code"] == 0, history
    assert not (run.root / "doubled").exists(), history
    for attempt in (*earlier, last):
        started_file = cluster_directory(attempt) / "started"
        # The file is empty if the program was killed just before it wrote.
        assert not started_file.exists() or started_file.read_text() in ("", "x"), history


@pytest.mark.parametrize("access_config", ACCESS_MODES, indirect=True)
def test_slurm_runs_succeed_once_despite_kills(faults: SlurmFaults) -> None:
    faults.launch_if_idle()
    killed_kinds = []
    for _ in soak_plugin.rounds(KILLS, "kills", settling_seconds=SETTLING_SECONDS):
        tick_for(faults.random.uniform(0.2, 2.0))
        killed_kinds.append(faults.kill_one())
    history = f"seed {SEED}: {' '.join(killed_kinds)}"
    wait_until_all_ended(faults.runs, faults.settle, lambda: f"{history}\n{faults.slurm.describe()}")
    for run in faults.runs:
        check(run, history)
    soak_plugin.count(Attempt.objects.count(), "attempts")
    print(f"{history}: {Attempt.objects.count()} attempts of {len(faults.runs)} runs")
