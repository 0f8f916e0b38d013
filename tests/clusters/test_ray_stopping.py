"""Jobs that are cancelled, that never start, that Ray lies about, or that it forgets; and what follows."""

from __future__ import annotations

import html
import signal
from dataclasses import replace

from django.test import Client

from runs import launching
from runs.models import Cluster, Experiment, Origin
from tests.clusters.far_slurm import BUSY, be_patient, run_far, started
from tests.clusters.ray import RayHead
from tests.clusters.ray_cluster import OnRay, cluster_of, word_of
from tests.runs.local_cluster import attempt_of, tick_until, tick_until_true
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.workers.attempts import IGNORES_TERM, read
from workers.attempt import CLOSED_EPOCH, Process, lease, owner
from workers.executors.states import State

SAVES_SLOWLY = """
import signal, sys, time
def stop(number, frame):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(4)
    open('checkpoint', 'w').write('saved')
    sys.exit(75)
signal.signal(signal.SIGTERM, stop)
open('started', 'a').write('x')
time.sleep(1200)
"""
"""Takes longer than Ray waits by itself."""


def test_a_running_job_has_its_grace_and_one_that_waits_for_ever_is_let_go(
    experiment: Experiment, on_ray: OnRay, ray: RayHead, ada_client: Client
) -> None:
    cluster_of(ray, grace=PATIENCE_SECONDS)
    on_ray.program = SAVES_SLOWLY
    running, waiting = run_far(experiment), run_far(experiment, gpus=99)
    started(running)
    queued = tick_until_true(waiting, "Ray to have no node for the job", lambda a: "no node" in a.reason)
    largest = "Ray has no node so large now, its largest has 8 cores and 2 GPUs"
    assert queued.reason == f"waiting for 1 core and 99 GPUs: {largest} (Ray: PENDING)"
    assert queued.reason in html.unescape(ada_client.get(waiting.get_absolute_url()).content.decode())
    for run in (running, waiting):
        launching.request_cancel(run, experiment.owner)
    ended = tick_until(waiting, "cancelled", "failed")
    # Ray said that it was stopped, and lists it as before. Should it ever start, its agent ends at once.
    assert ended.state == State.CANCELLED.value and ended.reason.startswith("cancelled while it waited; Ray")
    assert word_of(ray, ended.key) == "PENDING" and lease(ended.directory) == CLOSED_EPOCH
    ended = tick_until(running, "cancelled", "failed", "interrupted")
    assert (ended.state, ended.reason) == (State.CANCELLED.value, "cancelled; a checkpoint was saved")
    assert (ended.directory / "checkpoint").read_text() == "saved"


def test_a_job_that_is_shut_out_while_it_waits_ends_when_it_would_start(
    experiment: Experiment, on_ray: OnRay, ray: RayHead
) -> None:
    cluster_of(ray, never=0.5)
    on_ray.program = BUSY
    holding, waiting, hopeless = (run_far(experiment, gpus=gpus) for gpus in (2, 1, 99))
    started(holding)
    given_up = tick_until(hopeless, "failed", "cancelled", "running")
    assert given_up.reason.startswith("given up after 0.5 s: waiting for 1 core and 99 GPUs: Ray has no node so large")
    assert given_up.state == State.FAILED.value and lease(given_up.directory) == CLOSED_EPOCH
    on_ray.site = replace(on_ray.site, start_seconds=1)
    ended = tick_until(waiting, "failed", "cancelled", "running")
    assert ended.state == State.FAILED.value
    assert (
        ended.reason.startswith("given up after ") and "it was waiting for 1 core and 1 GPU, or to be" in ended.reason
    )
    launching.request_cancel(holding)
    tick_until(holding, "cancelled")
    wait_until(lambda: word_of(ray, ended.key) == "FAILED", "Ray to call the job failed")
    assert not (ended.directory / "started").exists()


def test_a_job_whose_heart_has_stopped_is_lost_and_ray_ends_what_is_left(
    experiment: Experiment, on_ray: OnRay, ray: RayHead
) -> None:
    be_patient(grace=1.0)
    on_ray.program = IGNORES_TERM
    run = run_far(experiment)
    first = started(run)
    be_patient(beat_lost=1.0)
    wait_until((first.directory / "heartbeat.json").exists, "the first heartbeat")
    agent, program = owner(first.directory), Process.recorded(read(first.directory / "heartbeat.json"))
    assert agent is not None and program is not None
    # So it does not see the lease either, as where a node has lost the disk.
    agent.send(signal.SIGSTOP)
    lost = tick_until(run, "lost", "failed", "cancelled")
    assert (lost.state, lost.reason) == (State.LOST.value, "no heartbeat for 1 s")
    wait_until(lambda: not agent.is_alive() and not program.is_alive(), "agent and program to end")


def test_where_ray_lies_the_heart_decides_and_a_head_that_forgot_all_loses_and_doubles_nothing(
    experiment: Experiment, on_ray: OnRay, ray: RayHead
) -> None:
    on_ray.program = BUSY
    unseen, forgotten = run_far(experiment, restarts=1), run_far(experiment)
    first, other = started(unseen), started(forgotten)
    be_patient(beat_lost=2.0, gone=0.5)
    beats = [a.directory / "heartbeat.json" for a in (first, other)]
    wait_until(lambda: all(beat.exists() for beat in beats), "the first heartbeat of both attempts")
    programs = [Process.recorded(read(beat)) for beat in beats]
    ray.kill_raylet()
    lost = tick_until_true(unseen, "attempt 1 to be lost", lambda a: a.run.attempts.get(n=1).state == "lost")
    first.refresh_from_db()
    assert word_of(ray, first.key) == "RUNNING"
    assert first.reason == "no heartbeat for 2 s" and lease(first.directory) == CLOSED_EPOCH
    agents = [owner(a.directory) for a in (first, other)]
    wait_until(
        lambda: not [process for process in (*programs, *agents) if process and process.is_alive()],
        "every agent and every program to end",
    )
    assert lost.cluster == Cluster.objects.get(name="far")
    ray.restart()
    be_patient(beat_lost=PATIENCE_SECONDS)
    assert word_of(ray, first.key) == ""
    assert tick_until(forgotten, "lost", "interrupted", "failed").state == State.LOST.value
    second = started(unseen)
    assert (second.n, second.origin) == (2, Origin.RESTART)
    assert (first.directory / "started").read_text() == (second.directory / "started").read_text() == "x"
    assert attempt_of(forgotten).n == 1
