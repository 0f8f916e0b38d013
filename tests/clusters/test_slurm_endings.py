"""Exit codes and signals of jobs on a real Slurm become states of their attempts."""

from __future__ import annotations

import pytest

from runs import launching
from runs.models import Experiment
from tests.clusters.scripted_slurm import ScriptedSlurm, launch_run, wait_until_ended
from tests.runs.local_cluster import attempt_of
from workers.executors.states import State

pytestmark = pytest.mark.soak

KILLS_ITSELF = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
ENDS = [
    ("pass", State.SUCCEEDED, "done"),
    ("print('no such prompt'); raise SystemExit(3)", State.FAILED, "ended with exit code 3: no such prompt"),
    ("raise SystemExit(75)", State.INTERRUPTED, "was stopped and saved a checkpoint"),
    (KILLS_ITSELF, State.FAILED, "killed by signal 11 (SIGSEGV)"),
]


@pytest.mark.parametrize(
    ("access_config", "ends"), [("here", ENDS), ("ssh", ENDS[1:2])], ids=["here", "ssh"], indirect=["access_config"]
)
def test_exit_codes_and_signals_are_reported(
    experiment: Experiment, slurm_executor: ScriptedSlurm, ends: list[tuple[str, State, str]]
) -> None:
    runs = []
    for program, _, _ in ends:
        slurm_executor.program = program
        runs.append(launch_run(experiment))
        launching.submit_job(attempt_of(runs[-1]))
    for run, (_, state, reason) in zip(runs, ends, strict=True):
        ended = wait_until_ended(run, *(s.value for s in State if s.is_final))
        assert (ended.state, ended.reason) == (state.value, reason)
        assert ended.native_id.isdecimal()
