"""What every executor promises, on fakes of Slurm's commands, of a machine behind SSH, and of Ray's Jobs API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from tests.clusters.fakes import FakeRay, FakeSlurm, InProcessSsh
from workers.attempt import CLOSED_EPOCH, lease
from workers.executors.base import Ambiguous, Executor, Rejected, Spec, Unreachable
from workers.executors.openssh import Access, Address, RemoteDisk, remote_disk
from workers.executors.openssh.connection import Connection
from workers.executors.ray import Ray
from workers.executors.ray import Site as RaySite
from workers.executors.slurm import Site, Slurm
from workers.executors.states import State
from workers.executors.submit_hosts import SharedDisk

KEY = "esweb-x-a1"


@dataclass
class Case:
    """An executor, the fake of its cluster, and the folder of its jobs."""

    kind: str
    executor: Executor
    fake: Any
    runs: Path

    def spec(self, key: str = KEY, **needs: Any) -> Spec:
        return Spec(key, self.runs / key.split("-")[1] / key, ("true",), **needs)

    def state(self, key: str = KEY) -> State | None:
        """Return the job's state; `find` and `poll` agree about it."""
        listed, polled = self.executor.find(key), self.executor.poll([key])[key]
        assert listed == polled
        return listed and listed.state


@pytest.fixture(params=["slurm", "ssh", "ray"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Case]:
    """Yield an executor of each kind."""
    runs, queue = tmp_path / "runs", tmp_path / "queue"
    if request.param == "ray":
        ray = FakeRay()
        ray.up()
        yield Case("ray", Ray(RaySite(ray.address, env={"HF_HOME": "/hf"}), queue), ray, runs)
        ray.down()
        return
    slurm = FakeSlurm()
    ssh = InProcessSsh(Connection(Access(Address("far"))), "python", {}, slurm)
    disk = RemoteDisk(ssh, PurePosixPath(tmp_path / "far"), runs, tmp_path / "code")
    host = disk if request.param == "ssh" else SharedDisk(slurm)
    yield Case(request.param, Slurm(Site(env={"HF_HOME": "/hf"}, project="/code"), queue, host=host), slurm, runs)


def test_submitted_job_is_listed_until_it_ends(case: Case) -> None:
    assert case.state() is None and case.executor.poll([]) == {}
    assert case.executor.submit(case.spec()) == (KEY if case.kind == "ray" else "1")
    assert case.state() == State.QUEUED
    case.fake.start(KEY)
    running = case.executor.find(KEY)
    node = "10.0.0.5" if case.kind == "ray" else "n1"
    assert running and (running.state, running.nodes, running.reason) == (State.RUNNING, node, f"on {node}")
    case.executor.submit(case.spec("esweb-y-a1"))
    seen = case.executor.poll([KEY, "esweb-y-a1", "esweb-z-a1"])
    assert [row and row.state for row in seen.values()] == [State.RUNNING, State.QUEUED, None]
    case.fake.finish(KEY)
    assert case.state() == State.SUCCEEDED
    case.fake.forget()
    assert case.state() is None


def test_cluster_gets_the_config_and_no_secret(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "sown-in-the-web")
    case.executor.submit(case.spec())
    sent = json.dumps(case.fake.bodies if case.kind == "ray" else case.fake.commands)
    assert "HF_HOME=/hf" in sent and "sown-in" not in sent
    files = [file for file in case.runs.parent.rglob("*") if file.is_file()]
    assert "spec.json" in {file.name for file in files}
    assert not [file for file in files if b"sown-in" in file.read_bytes()]


def test_waiting_job_is_cancelled_and_never_runs(case: Case) -> None:
    case.executor.submit(case.spec())
    case.executor.cancel(KEY, 60.0)
    assert case.state() == State.CANCELLED
    [job] = case.fake.jobs_of(KEY)
    if case.kind == "ray":
        # Ray lists it until it would start; then its agent ends immediately.
        case.fake.start(KEY)
        assert job["status"] == "FAILED" and lease(case.spec().directory) == CLOSED_EPOCH
    else:
        assert job.state == "CANCELLED" and not job.signals


def test_running_job_is_signalled_and_ended_after_its_grace(case: Case) -> None:
    for key in (KEY, "esweb-y-a1"):
        case.executor.submit(case.spec(key))
        case.fake.start(key)
    for _ in range(2):
        case.executor.cancel(KEY, 3600.0)
    assert case.state() == State.RUNNING and lease(case.spec().directory) == 0
    if case.kind == "ray":
        assert case.fake.signals == [KEY] * 2
        case.executor.cancel(KEY, 0.0)
        assert lease(case.spec().directory) == CLOSED_EPOCH and case.state("esweb-y-a1") == State.RUNNING
        return
    case.executor.cancel(KEY, 0.0)
    assert case.fake.jobs_of(KEY)[0].signals == ["TERM", "TERM", "KILL"] and case.state() == State.CANCELLED
    assert not case.fake.running("esweb-y-a1").signals
    # The request of a job that has ended is forgotten.
    assert not list((case.runs.parent / "queue" / "asked").iterdir())


def test_cancel_of_unknown_or_ended_job_does_nothing(case: Case) -> None:
    case.executor.cancel("esweb-other-a1", 0.0)
    case.executor.submit(case.spec())
    case.fake.start(KEY)
    case.fake.finish(KEY)
    case.executor.cancel(KEY, 0.0)
    assert case.state() == State.SUCCEEDED


def test_submit_that_is_not_answered_is_ambiguous(case: Case) -> None:
    case.fake.lose_submit()
    with pytest.raises(Ambiguous):
        case.executor.submit(case.spec())
    assert case.state() is None
    case.fake.lose_reply_to_submit()
    with pytest.raises(Ambiguous):
        case.executor.submit(case.spec())
    assert case.state() == State.QUEUED and len(case.fake.jobs_of(KEY)) == 1


def test_refused_job_is_rejected_with_the_reason(case: Case) -> None:
    case.fake.refuse_submit("Invalid account nolab")
    with pytest.raises(Rejected, match=r"Invalid account nolab( |$)"):
        case.executor.submit(case.spec())
    assert case.state() is None


def test_twice_submitted_job_begins_once(case: Case) -> None:
    """Two workers may look at the same time, find no job, and submit."""
    for _ in range(2):
        case.executor.submit(case.spec())
    jobs = case.fake.jobs_of(KEY)
    assert len(jobs) == (1 if case.kind == "ray" else 2)
    case.fake.start(KEY)
    assert case.state() == State.RUNNING
    case.fake.finish(KEY)
    if case.kind != "ray":
        case.fake.start(KEY)
        assert [job.state for job in jobs] == ["COMPLETED", "FAILED"]
    assert case.state() == State.SUCCEEDED


def test_silent_cluster_is_unreachable(case: Case) -> None:
    case.executor.submit(case.spec())
    case.fake.is_away = True
    for ask in (
        lambda: case.executor.find(KEY),
        lambda: case.executor.poll([KEY]),
        lambda: case.executor.cancel(KEY, 1.0),
        case.executor.node_shapes,
    ):
        with pytest.raises(Unreachable):
            ask()
    with pytest.raises((Ambiguous, Unreachable)):
        case.executor.submit(case.spec("esweb-y-a1"))


def test_unwritable_directory_is_unreachable(case: Case) -> None:
    case.runs.write_text("a file in the way")
    with pytest.raises(Unreachable, match=r"cannot be (written|used): "):
        case.executor.submit(case.spec())
    assert not case.fake.jobs_of(KEY)


def test_end_without_a_record_is_described(case: Case) -> None:
    for key in (KEY, "esweb-y-a1"):
        case.executor.submit(case.spec(key))
        case.fake.start(key)
    case.fake.end(KEY, "FAILED")
    if case.kind == "ray":
        case.fake.end("esweb-y-a1", "FAILED", "The node is gone", error="JOB_SUPERVISOR_ACTOR_DIED")
    else:
        case.fake.end("esweb-y-a1", "NODE_FAIL", "NodeDown")
    assert (case.state(), case.state("esweb-y-a1")) == (State.FAILED, State.NODE_LOST)


def test_job_that_can_never_start_is_distinguished(case: Case) -> None:
    case.executor.submit(case.spec(gpus=99 if case.kind == "ray" else 0))
    if case.kind != "ray":
        case.fake.jobs_of(KEY)[0].reason = "PartitionTimeLimit"
    case.executor.submit(case.spec("esweb-y-a1"))
    seen = case.executor.poll([KEY, "esweb-y-a1"])
    assert [(row.state, row.never_starts) for row in seen.values() if row] == [
        (State.QUEUED, True), (State.QUEUED, False)
    ]  # fmt: skip


def test_invalid_key_is_refused_and_nothing_is_sent(case: Case) -> None:
    with pytest.raises(Rejected, match="is not a valid key"):
        case.executor.submit(replace(case.spec(), key="a;b"))
    assert not case.fake.commands and not case.runs.exists()


@pytest.mark.parametrize("case", ["ssh"], indirect=True)
def test_poll_fetches_large_files_piece_by_piece(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_disk, "FILE_BYTES", 10)
    spec = case.spec()
    case.executor.submit(spec)
    case.fake.start(KEY)
    (case.runs.parent / "far" / "runs" / "x" / KEY / "log.txt").write_text("line\n" * 9)
    assert case.executor.poll([KEY])[KEY] and (spec.directory / "log.txt").read_text() == "line\n" * 9
    # What is left when the time is over is fetched by later polls.
    monkeypatch.setattr(remote_disk, "LOOKS_SECONDS", 0.0)
    (case.runs.parent / "far" / "runs" / "x" / KEY / "log.txt").write_text("line\n" * 14)
    sizes = []
    for _ in range(3):
        case.executor.find(KEY)
        sizes.append((spec.directory / "log.txt").stat().st_size)
    assert sizes == [55, 65, 70]
