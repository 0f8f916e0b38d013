"""What only Ray does, on a fake: jobs that are held back, given up, or wait for a head with another token."""

from __future__ import annotations

from pathlib import Path

import pytest

from runs import launching
from runs.clusters.inventory import inventory_of
from runs.models import Experiment
from tests.clusters.fakes.far import Far
from tests.clusters.scripted_slurm import launch_run, set_timeouts
from tests.runs.local_cluster import attempt_of
from workers.attempt import CLOSED_EPOCH, lease
from workers.config import ConfigError
from workers.executors.states import State

pytestmark = pytest.mark.parametrize("far", ["ray"], indirect=True)


def test_job_waits_until_the_token_is_right(far: Far, experiment: Experiment, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("nonsense\n")
    far.fake.token = "secret-word"
    far.configure(token_file=str(token))
    run = launch_run(experiment)
    [refused] = far.tick(run)
    assert refused.state == State.SUBMITTING.value and refused.submits == 0
    assert "refuses access: see token_file (Forbidden" in refused.reason and "nonsense" not in refused.reason
    token.write_text("secret-word\n")
    assert far.start(run).state == State.RUNNING.value


def test_job_that_waited_too_long_is_given_up_and_never_runs(far: Far, experiment: Experiment) -> None:
    run = launch_run(experiment, gpus=1)
    [waiting] = far.tick(run)
    assert waiting.reason == "waiting for 1 core and 1 GPU, or to start (Ray: PENDING)"
    far.configure(start_seconds=1e-9)
    [ended] = far.tick(run)
    assert ended.state == State.FAILED.value and ended.reason.startswith("given up after ")
    assert "it was waiting for 1 core and 1 GPU, or to start" in ended.reason
    far.fake.start(ended.key)
    assert far.fake.jobs[ended.key]["status"] == "FAILED" and lease(ended.directory) == CLOSED_EPOCH


def test_run_waits_for_nodes_that_ray_does_not_have(far: Far, experiment: Experiment) -> None:
    runs = [launch_run(experiment, nodes=2) for _ in range(3)]
    held = far.tick(*runs)
    reason = "waiting for 2 nodes with 1 core each: Ray has 1 node that large now (not sent to Ray yet)"
    assert {(attempt.state, attempt.reason) for attempt in held} == {(State.QUEUED.value, reason)}
    launching.request_cancel(runs[0])
    [cancelled] = far.tick(runs[0])
    assert (cancelled.state, cancelled.reason) == (
        State.CANCELLED.value, "cancelled while it was queued; it was not sent to Ray"
    )  # fmt: skip
    far.fake.nodes *= 2
    far.fake.refuse_submit("no such thing")
    far.tick()
    refused, sent = far.tick(*runs[1:])
    assert refused.state == State.FAILED.value and refused.reason == "Ray refused it: TypeError: no such thing"
    assert [*far.fake.jobs] == [sent.key] and far.start(runs[2]).state == State.RUNNING.value


def test_run_that_ray_cannot_hold_is_withdrawn_unsent(far: Far, experiment: Experiment) -> None:
    run = launch_run(experiment, nodes=2)
    set_timeouts(never=0.0)
    [failed] = far.tick(run)
    assert failed.state == State.FAILED.value and lease(failed.directory) == CLOSED_EPOCH
    assert failed.reason.startswith("cancelled after 0 s because it cannot start: waiting for 2 nodes")
    far.fake.nodes *= 2
    far.tick()
    assert not far.fake.jobs


def test_tick_reads_the_nodes_of_ray(far: Far, experiment: Experiment) -> None:
    far.tick()
    [shape] = inventory_of(far.row).shapes
    assert (shape.count, shape.partition, shape.cores, shape.gpus) == (1, "", 8, 2)
    with pytest.raises(ConfigError, match=r"must be at most 1, not 2: cluster \w+ has no more nodes"):
        launch_run(experiment, nodes=2)
    far.configure(autoscales=True)
    run = launch_run(experiment, nodes=2)
    far.tick()
    assert [*far.fake.jobs] == [attempt_of(run).key]
