"""Jobs that are cancelled, that never start, that Ray reports wrongly, or that it forgets; and the consequences."""

from __future__ import annotations

import html
import signal
from dataclasses import replace

import pytest
from django.test import Client

from runs import launching
from runs.models import Cluster, Experiment, Origin
from tests.clusters.ray import RayHead
from tests.clusters.scripted_ray import ScriptedRay, make_ray_cluster, ray_status
from tests.clusters.scripted_slurm import BUSY, launch_run, set_timeouts, wait_until_started
from tests.runs.local_cluster import attempt_of, tick_until, tick_until_true
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import AWAITS_SIGNAL, HAS_STARTED, IGNORES_TERM, read
from workers.attempt import CLOSED_EPOCH, Process, lease, owner
from workers.executors.states import State

pytestmark = pytest.mark.soak
SAVES_SLOWLY = f"""
import signal, sys, time
def stop(number, frame):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(4)
    open('checkpoint', 'w').write('saved')
    sys.exit(75)
signal.signal(signal.SIGTERM, stop)
{HAS_STARTED}
{AWAITS_SIGNAL}
"""
"""A program that takes longer to stop than Ray's own grace."""


def test_cancel_gives_grace_and_releases_waiting_job(
    experiment: Experiment, ray_executor: ScriptedRay, ray: RayHead, ada_client: Client
) -> None:
    make_ray_cluster(ray, grace=PATIENCE_SECONDS)
    ray_executor.program = SAVES_SLOWLY
    running, waiting = launch_run(experiment), launch_run(experiment, gpus=99)
    wait_until_started(running)
    queued = tick_until_true(waiting, "Ray to have no node for the job", lambda a: "no node" in a.reason)
    largest = "Ray has no node that large now; its largest has 8 cores and 2 GPUs"
    assert queued.reason == f"waiting for 1 core and 99 GPUs: {largest} (Ray: PENDING)"
    assert queued.reason in html.unescape(ada_client.get(waiting.get_absolute_url()).content.decode())
    for run in (running, waiting):
        launching.request_cancel(run, experiment.owner)
    ended = tick_until(waiting, "cancelled", "failed")
    # Ray replied that the job was stopped, and lists it as before. If it ever starts, its agent ends immediately.
    assert ended.state == State.CANCELLED.value and ended.reason.startswith("cancelled while it was queued; Ray")
    assert ray_status(ray, ended.key) == "PENDING" and lease(ended.directory) == CLOSED_EPOCH
    ended = tick_until(running, "cancelled", "failed", "interrupted")
    assert (ended.state, ended.reason) == (State.CANCELLED.value, "cancelled; a checkpoint was saved")
    assert (ended.directory / "checkpoint").read_text() == "saved"


def test_fenced_waiting_job_ends_when_started(experiment: Experiment, ray_executor: ScriptedRay, ray: RayHead) -> None:
    make_ray_cluster(ray, never=0.5)
    ray_executor.program = BUSY
    holding, waiting, hopeless = (launch_run(experiment, gpus=gpus) for gpus in (2, 1, 99))
    wait_until_started(holding)
    given_up = tick_until(hopeless, "failed", "cancelled", "running")
    assert given_up.reason.startswith(
        "cancelled after 0.5 s because it cannot start: waiting for 1 core and 99 GPUs: Ray has no node that large"
    )
    assert given_up.state == State.FAILED.value and lease(given_up.directory) == CLOSED_EPOCH
    ray_executor.site = replace(ray_executor.site, start_seconds=1)
    ended = tick_until(waiting, "failed", "cancelled", "running")
    assert ended.state == State.FAILED.value
    assert (
        ended.reason.startswith("given up after ")
        and "it was waiting for 1 core and 1 GPU, or to start" in ended.reason
    )
    launching.request_cancel(holding)
    tick_until(holding, "cancelled")
    wait_until(lambda: ray_status(ray, ended.key) == "FAILED", "Ray to call the job failed")
    assert not (ended.directory / "started").exists()


def test_job_without_heartbeat_is_lost_and_ended(
    experiment: Experiment, ray_executor: ScriptedRay, ray: RayHead
) -> None:
    set_timeouts(grace=1.0)
    ray_executor.program = IGNORES_TERM
    run = launch_run(experiment)
    first = wait_until_started(run)
    set_timeouts(beat_lost=1.0)
    wait_until((first.directory / "heartbeat.json").exists, "the first heartbeat")
    agent, program = owner(first.directory), Process.recorded(read(first.directory / "heartbeat.json"))
    assert agent is not None and program is not None
    # A stopped agent does not see the lease either, as if the node had lost the disk.
    agent.send(signal.SIGSTOP)
    lost = tick_until(run, "lost", "failed", "cancelled")
    assert (lost.state, lost.reason) == (State.LOST.value, "no heartbeat for 1 s")
    wait_until(lambda: not agent.is_alive() and not program.is_alive(), "agent and program to end")


def test_heartbeat_decides_over_ray_and_restarted_head(
    experiment: Experiment, ray_executor: ScriptedRay, ray: RayHead
) -> None:
    ray_executor.program = BUSY
    unseen, forgotten = launch_run(experiment, restarts=1), launch_run(experiment)
    first, other = wait_until_started(unseen), wait_until_started(forgotten)
    set_timeouts(beat_lost=2.0, gone=0.5)
    heartbeats = [a.directory / "heartbeat.json" for a in (first, other)]
    wait_until(lambda: all(file.exists() for file in heartbeats), "the first heartbeat of both attempts")
    programs = [Process.recorded(read(file)) for file in heartbeats]
    ray.kill_raylet()
    lost = tick_until_true(unseen, "attempt 1 to be lost", lambda a: a.run.attempts.get(n=1).state == "lost")
    first.refresh_from_db()
    assert ray_status(ray, first.key) == "RUNNING"
    assert first.reason == "no heartbeat for 2 s" and lease(first.directory) == CLOSED_EPOCH
    agents = [owner(a.directory) for a in (first, other)]
    wait_until(
        lambda: not [process for process in (*programs, *agents) if process and process.is_alive()],
        "every agent and every program to end",
    )
    assert lost.cluster == Cluster.objects.get(name="far")
    ray.restart()
    set_timeouts(beat_lost=PATIENCE_SECONDS)
    assert ray_status(ray, first.key) == ""
    assert tick_until(forgotten, "lost", "interrupted", "failed").state == State.LOST.value
    second = wait_until_started(unseen)
    assert (second.n, second.origin) == (2, Origin.RESTART)
    assert (first.directory / "started").read_text() == (second.directory / "started").read_text() == "x"
    assert attempt_of(forgotten).n == 1
