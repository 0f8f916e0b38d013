"""Slurm refuses jobs for now or for ever, on a fake: what waits, what ends, and that no attempt ever has two jobs."""

from __future__ import annotations

import errno
import html
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from runs import launching
from runs.clusters import executor_for
from runs.launching import submit_pauses
from runs.launching.submit_pauses import MAX_SUBMITS, MAX_UNCLEAR_SUBMITS
from runs.launching.sweeps.pause import pause_sweep
from runs.models import Attempt, Experiment, Run
from tests.cases import each_case
from tests.clusters.fakes.far import HERE, ON_SLURM, OVER_SSH, Far
from tests.clusters.fakes.slurm import POLICY
from tests.clusters.fakes.ssh import InProcessSsh
from tests.clusters.scripted_slurm import launch_run, launch_sweep, set_timeouts
from tests.runs.api_client import calls
from tests.runs.local_cluster import attempt_of
from workers.executors import shell
from workers.executors.base import DiskFull, Postponed, Spec, Unreachable
from workers.executors.openssh import Access, Address, remote_agent
from workers.executors.openssh.connection import Connection
from workers.executors.shell import Reply
from workers.executors.states import Obstacle

LIMIT = (
    "waiting: far refuses it for now: its QOS takes no more jobs of this user (Slurm: QOSMaxSubmitJobPerUserLimit); "
)
FULL = "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying\n"


def error(text: str, *before: str) -> Reply:
    """Return the reply of an sbatch whose request failed."""
    lines = [*before, f"Batch job submission failed: {text}"]
    return Reply(1, "", "".join(f"sbatch: error: {line}\n" for line in lines))


def end_pauses() -> None:
    """Let all pauses pass."""
    Attempt.objects.exclude(submit_again_at=None).update(submit_again_at=timezone.now())


def seconds_until_next(attempt: Attempt) -> float:
    """Return the length of the attempt's pause."""
    assert attempt.submit_again_at is not None
    return (attempt.submit_again_at - timezone.now()).total_seconds()


@OVER_SSH
def test_sweep_goes_on_when_there_is_room(far: Far, experiment: Experiment) -> None:
    """A limit of two submitted jobs, and a sweep of four runs."""
    far.fake.max_submitted = 2
    runs = launch_sweep(experiment, 4)
    far.fake.commands.clear()
    attempts = far.tick(*runs)
    assert [a.state for a in attempts] == ["queued"] * 2 + ["submitting"] * 2
    assert attempts[2].reason.startswith(LIMIT) and "submitted 2 of at most 200 times, next at " in attempts[2].reason
    assert attempts[2].reason.endswith("UTC, or when another job of this site ends there")
    reason = attempts[2].reason.partition("; submitted")[0].removeprefix("waiting: ")
    assert all(a.reason == f"waiting behind run {runs[2].name}: {reason}" for a in attempts[3:])
    # The array, once as a test, and the jobs one by one until one is refused.
    assert far.fake.count("sbatch") == 5
    far.fake.commands.clear()
    assert [a.state for a in far.tick(*runs)] == ["queued"] * 2 + ["submitting"] * 2 and not far.fake.count("sbatch")
    order = []
    for _ in runs:
        job = next(job for job in far.fake.jobs if job.is_open)
        order.append(job.name)
        far.fake.start(job.name)
        far.fake.finish(job.name)
        set_timeouts(settle=0.0)
        # The first tick sees the end, and the next one submits in its place.
        far.tick()
        far.tick()
        assert sum(job.is_open for job in far.fake.jobs) == min(2, 4 - len(order))
    assert order == [attempt_of(run).key for run in runs]
    assert [len(far.fake.jobs_of(key)) for key in order] == [1] * 4
    assert [attempt_of(run).state for run in runs] == ["succeeded"] * 4


@HERE
def test_pauses_grow_up_to_a_limit_and_a_clock_set_back_ends_them(far: Far, experiment: Experiment) -> None:
    set_timeouts(submit=100.0, submit_longest=350.0)
    far.fake.max_submitted = 0
    run = launch_run(experiment)
    for longest in (100, 200, 350):
        [waiting] = far.tick(run)
        assert longest - 60 < seconds_until_next(waiting) <= longest
        end_pauses()
    assert waiting.events.filter(why__startswith="far refused it for now").count() == 1
    Attempt.objects.update(submit_again_at=timezone.now() + timedelta(days=1))
    far.fake.max_submitted = 1
    [queued] = far.tick(run)
    assert (queued.state, queued.submits, queued.submit_again_at, queued.obstacle) == ("queued", 4, None, "")


@HERE
def test_reason_is_on_the_page_and_in_the_api(far: Far, experiment: Experiment, ada_client: Client, ada: User) -> None:
    far.fake.max_submitted = 0
    run = launch_run(experiment)
    [waiting] = far.tick(run)
    assert waiting.reason in html.unescape(ada_client.get(run.get_absolute_url()).content.decode())
    answer = calls(ada).get(f"/api/v1/runs/{run.uid}").json()
    [stated] = answer["attempts"]
    assert (stated["reason"], stated["submits"]) == (waiting.reason, 1) and stated["submit_again_at"] is not None


FOR_NOW = [
    (
        error("Disk quota exceeded"),
        "cluster",
        "a disk quota is used up (Slurm: Disk quota exceeded); submitted",
    ),
    (error("I/O error writing script/environment to file"), "cluster", "a disk of the cluster is full"),
    (error("Required node not available (down, drained or reserved)"), "cluster", "nodes that it needs are down"),
    (error("Resource temporarily unavailable", FULL[15:-1]), "room", "the cluster takes no more jobs of anybody"),
    (error(POLICY, "AssocMaxSubmitJobLimit"), "room", "the limit of this user's submitted jobs is reached"),
    # Words that may concern this job alone hold back no other.
    (error(POLICY), "unclear", "a limit of its account or QOS refuses it: of the number of submitted jobs, or of"),
]


@HERE
def test_run_waits_for_what_passes(far: Far, experiment: Experiment) -> None:
    runs = [launch_run(experiment) for _ in range(2)]
    for number, (reply, obstacle, text) in enumerate(FOR_NOW, 1):
        end_pauses()
        far.fake.replies["sbatch"] = reply
        waiting, other = far.tick(*runs)
        assert waiting.reason.startswith(f"waiting: far refuses it for now: {text}")
        assert (waiting.state, waiting.obstacle, waiting.submits) == ("submitting", obstacle, number)
        assert other.state == ("queued" if obstacle == "unclear" else "submitting")
    end_pauses()
    assert [a.state for a in far.tick(*runs)] == ["queued"] * 2
    assert [len(far.fake.jobs_of(a.key)) for a in (waiting, other)] == [1, 1]


@HERE
def test_run_of_another_experiment_learns_no_name(far: Far, experiment: Experiment) -> None:
    far.fake.max_submitted = 0
    launch_run(experiment)
    [behind] = far.tick(launch_run(Experiment.objects.create(name="Theirs", owner=User.objects.create_user("bob"))))
    assert (
        behind.reason == "waiting behind another run: far refuses it for now: its QOS takes no more jobs of this user"
    )


@HERE
def test_runs_of_another_partition_do_not_wait(far: Far, experiment: Experiment) -> None:
    far.configure(partition="main", partitions=["main", "high"])
    first, same, other = (launch_run(experiment, partition=name) for name in ("main", "", "high"))
    far.fake.replies["sbatch"] = error("Required partition not available (inactive or drain)")
    assert [a.state for a in far.tick(first, same, other)] == ["submitting", "submitting", "queued"]


@HERE
def test_nothing_is_submitted_without_end(far: Far, experiment: Experiment) -> None:
    set_timeouts(ambiguous=0.0, submit=0.0)
    replies = (
        (error(POLICY, "AssocGrpSubmitJobsLimit"), MAX_SUBMITS, "the limit of its account's submitted jobs is reached"),
        (error(POLICY), MAX_UNCLEAR_SUBMITS, "a limit of its account or QOS refuses it"),
        (error("Socket timed out on send/recv operation"), MAX_SUBMITS, "Socket timed out"),
    )
    for reply, limit, reason in replies:
        run = launch_run(experiment, restarts=3)
        Attempt.objects.filter(run=run).update(submits=limit - 1)
        far.fake.replies["sbatch"] = reply
        far.tick(run)
        far.fake.commands.clear()
        [ended] = far.tick(run)
        assert (ended.state, ended.submits, far.fake.count("sbatch")) == ("failed", limit, 0)
        assert ended.reason.startswith(f"far did not take it; it was submitted {limit} times, and no more: ")
        assert reason in ended.reason and not far.fake.jobs_of(ended.key) and far.tick(run)[0].n == 1


@ON_SLURM
def test_words_that_mean_either_are_a_refusal_if_no_job_exists(far: Far, experiment: Experiment) -> None:
    run = launch_run(experiment)
    far.fake.replies["sbatch"] = error("Unspecified error", "Job rejected: please give an account, or try again")
    far.fake.commands.clear()
    [refused] = far.tick(run)
    assert (refused.state, refused.submits) == ("failed", 1)
    assert refused.reason == (
        "far refused it: Job rejected: please give an account, or try again; Batch job submission failed: "
        "Unspecified error"
    )
    commands = [argv[0] for argv in far.fake.commands]
    assert commands.count("sbatch") == 1 and commands[commands.index("sbatch") + 1] == "squeue"


@HERE
@each_case("reply", [error("Unspecified error", "Rejected"), error("Socket timed out on send/recv operation"),
                     error("Disk quota exceeded"), error(POLICY, "AssocMaxSubmitJobLimit")])  # fmt: skip
def test_job_that_exists_in_spite_of_an_error_is_adopted(far: Far, experiment: Experiment, reply: Reply) -> None:
    """A submit that worked, and whose reply says otherwise."""
    run = launch_run(experiment)

    def submit_anyway() -> None:
        command = next(argv for argv in reversed(far.fake.commands) if argv[0] == "sbatch")
        assert far.fake._run(command[0], command[1:], "").code == 0
        far.fake.replies["sbatch"] = reply

    far.fake.before["sbatch"] = submit_anyway
    set_timeouts(ambiguous=0.0, submit=0.0)
    far.tick(run)
    end_pauses()
    [adopted] = far.tick(run)
    assert (adopted.state, adopted.submits, len(far.fake.jobs_of(adopted.key))) == ("queued", 1, 1)
    end = far.fake.jobs_of(adopted.key)[0]
    end.state = "COMPLETED"


@HERE
def test_unknown_whether_the_job_exists_is_no_refusal(far: Far, experiment: Experiment) -> None:
    run = launch_run(experiment)
    far.fake.replies["sbatch"] = error("Unspecified error", "Rejected")
    far.fake.after["sbatch"] = lambda: far.fake.before.update(squeue=_silence)
    assert not launching.submit_job(attempt_of(run))
    unclear = attempt_of(run)
    assert unclear.state == "submitting" and "and whether the job exists is unknown: squeue" in unclear.reason
    set_timeouts(ambiguous=0.0)
    assert far.tick(run)[0].state == "queued"


@OVER_SSH
def test_sbatch_that_repeats_its_request_is_ended_and_named(far: Far, experiment: Experiment) -> None:
    """Slurm's MaxJobCount: sbatch itself sleeps and retries, for two minutes."""
    runs = [launch_run(experiment) for _ in range(2)]

    def run_late() -> None:
        raise shell.late(("sbatch",), 30.0, FULL)

    far.fake.before["sbatch"] = run_late
    first, second = far.tick(*runs)
    assert first.reason.startswith(
        "far did not confirm the job: sbatch did not answer within 30 s: sbatch: error: Slurm"
    )
    far.fake.commands.clear()
    first, second = far.tick(*runs)
    # Each try takes half a minute, so the others wait for the pause of the first.
    assert not far.fake.count("sbatch") and second.reason.startswith("waiting behind run far away: far did not confirm")
    set_timeouts(ambiguous=0.0)
    assert far.tick(*runs)[0].state == "submitting"
    end_pauses()
    assert [a.state for a in far.tick(*runs)] == ["queued"] * 2


@HERE
def test_waiting_run_is_cancelled_or_withdrawn_without_a_call(far: Far, experiment: Experiment) -> None:
    far.fake.max_submitted = 0
    runs = launch_sweep(experiment, 3)
    far.tick()
    far.fake.commands.clear()
    far.fake.max_submitted = 9
    launching.request_cancel(runs[0])
    assert runs[0].sweep is not None and pause_sweep(runs[0].sweep)
    far.tick()
    ended = [run.attempts.get(n=1) for run in runs]
    assert [a.state for a in ended] == ["cancelled"] * 3 and not far.fake.count("sbatch")
    assert not [job for job in far.fake.jobs if job.is_open]


@HERE
@pytest.mark.django_db(transaction=True)
def test_two_workers_submit_a_waiting_job_once(far: Far, experiment: Experiment) -> None:
    far.fake.max_submitted = 0
    run = launch_run(experiment)
    far.tick(run)
    end_pauses()
    far.fake.max_submitted, far.fake.commands[:] = 9, []
    copies = [attempt_of(run) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(_submit, copies))
    assert far.fake.count("sbatch") == 1 and len(far.fake.jobs_of(copies[0].key)) == 1
    assert attempt_of(run).submits == 2


@HERE
def test_late_refusal_of_an_older_call_changes_nothing(far: Far, experiment: Experiment) -> None:
    far.fake.max_submitted = 0
    run = launch_run(experiment)
    far.tick(run)
    old = attempt_of(run)
    end_pauses()
    far.fake.lose_submit()
    far.tick(run)
    submit_pauses.postpone(old, "too late", Obstacle.ROOM)
    assert attempt_of(run).submit_started_at is not None and "too late" not in attempt_of(run).reason


@OVER_SSH
def test_full_disk_of_the_cluster_is_named(far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [launch_run(experiment) for _ in range(2)]
    reply = {"error": "/scratch/x: Disk quota exceeded", "full": True}
    with monkeypatch.context() as patch:
        patch.setattr(InProcessSsh, "ask", lambda self, *_: self._read(json.dumps(reply).encode()))
        first, second = runs_of(runs, launching.submit_job)
    assert first.reason == (
        "waiting: the disk is full (the job's files cannot be written on far: on ada@far: /scratch/x: Disk quota "
        "exceeded)"
    )
    assert second.reason == f"waiting behind run far away: {first.reason.removeprefix('waiting: ')}"
    assert (first.submits, first.obstacle, far.row.unreachable_since_at) == (0, "cluster", None)
    end_pauses()
    assert [a.state for a in far.tick(*runs)] == ["queued"] * 2


@ON_SLURM
def test_disk_that_fills_up_before_the_call_is_no_lost_submit(
    far: Far, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor = executor_for(far.row)
    directory = Path(settings.RUNS_DIR) / "x" / "esweb-x-a1"
    monkeypatch.setattr("workers.executors.slurm.executor.write_whole", _fill_up)
    with pytest.raises(Postponed, match=r"a disk is full, or a quota used up: .* Disk quota exceeded") as raised:
        executor.submit(Spec("esweb-x-a1", directory, ("true",)))
    assert raised.value.obstacle == Obstacle.CLUSTER and not far.fake.count("sbatch")


def test_other_machine_reports_a_full_disk(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ssh = InProcessSsh(Connection(Access(Address("far")), Path()), "python3")
    for number, kind in ((errno.EDQUOT, DiskFull), (errno.ENOSPC, DiskFull), (errno.EACCES, Unreachable)):
        monkeypatch.setattr(remote_agent, "handle", lambda request, n=number: _raise(OSError(n, os.strerror(n), "/x")))
        remote_agent.main({"mark": "mark"})
        line = capsys.readouterr().out.splitlines()[-1].removeprefix("mark ")
        with pytest.raises(Unreachable, match="on far: /x: ") as raised:
            ssh._read(line.encode())
        assert raised.type is kind


def runs_of(runs: list[Run], action: Callable[[Attempt], object]) -> list[Attempt]:
    """Apply the action to the newest attempt of each run, and return the attempts."""
    for run in runs:
        action(attempt_of(run))
    return [attempt_of(run) for run in runs]


def _submit(attempt: Attempt) -> bool:
    try:
        return launching.submit_job(attempt)
    finally:
        connection.close()


def _silence() -> None:
    raise Unreachable("squeue did not answer within 30 s")


def _fill_up(*_: object, **__: object) -> None:
    raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))


def _raise(error: Exception) -> None:
    raise error
