"""How a job ends on a real Slurm is how its attempt ends."""

from __future__ import annotations

import pytest

from runs import launching
from runs.models import Experiment
from tests.clusters.far_slurm import Far, await_end, run_far
from tests.runs.local_cluster import attempt_of
from workers.executors.states import State

KILLS_ITSELF = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
ENDS = [
    ("pass", State.SUCCEEDED, "done"),
    ("print('no such prompt'); raise SystemExit(3)", State.FAILED, "ended with exit code 3: no such prompt"),
    ("raise SystemExit(75)", State.INTERRUPTED, "was told to stop and saved a checkpoint"),
    (KILLS_ITSELF, State.FAILED, "killed by signal 11 (SIGSEGV)"),
]


@pytest.mark.parametrize(
    ("reached", "ends"), [("here", ENDS), ("ssh", ENDS[1:2])], ids=["here", "ssh"], indirect=["reached"]
)
def test_codes_and_signals_are_told_as_they_were(
    experiment: Experiment, far: Far, ends: list[tuple[str, State, str]]
) -> None:
    runs = []
    for program, _, _ in ends:
        far.program = program
        runs.append(run_far(experiment))
        launching.submit_job(attempt_of(runs[-1]))
    for run, (_, state, why) in zip(runs, ends, strict=True):
        ended = await_end(run, *(s.value for s in State if s.is_final))
        assert (ended.state, ended.reason) == (state.value, why)
        assert ended.native_id.isdecimal()
