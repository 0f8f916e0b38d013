"""What only Slurm does, on a fake: preemption, requeues, limits, lost records, accounting, partitions and orphans."""

from __future__ import annotations

import html
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from runs import launching
from runs.clusters import executor_for
from runs.clusters.inventory import inventory_of
from runs.ingest import Follower
from runs.launching.submit import spec_of
from runs.models import Experiment, Origin
from tests.cases import each_case
from tests.clusters.fakes import agent
from tests.clusters.fakes.far import HERE, ON_SLURM, OVER_SSH, Far
from tests.clusters.scripted_slurm import launch_run, set_timeouts
from tests.clusters.slurm.config import CORES, GPU_TYPES, GPUS, MEMORY_MB, NODES
from tests.runs.local_cluster import attempt_of
from workers.attempt import CLOSED_EPOCH, lease
from workers.config import ConfigError
from workers.executors.base import Ambiguous, NotBegun, Rejected, Spec, Unreachable
from workers.executors.shell import Reply
from workers.executors.slurm import Slurm
from workers.executors.states import State


def slurm_of(far: Far, **site: Any) -> Slurm:
    """Return the executor, with these changes of its site."""
    executor = executor_for(far.row)
    assert isinstance(executor, Slurm)
    executor.site = replace(executor.site, **site)
    return executor


def spec(folder: Path, name: str = "x", **needs: Any) -> Spec:
    run = folder / "runs" / name
    return Spec(f"esweb-{name}-a1", run / f"esweb-{name}-a1", ("true",), **needs)


@ON_SLURM
def test_preempted_run_resumes_without_using_restarts(far: Far, experiment: Experiment) -> None:
    run = launch_run(experiment, restarts=1)
    running = far.start(run)
    agent.report_checkpoint(far.directory(running), 5)
    far.fake.finish(running.key, 75, state="PREEMPTED", stopped=True)
    far.tick(run)
    first = run.attempts.get(n=1)
    assert first.state == State.PREEMPTED.value and first.reason.startswith("preempted: Slurm stopped it")
    if far.kind == "ssh":
        # Its records on the other disk may report a newer checkpoint.
        assert far.tick(run)[0].n == 1
        far.tick(run)
    Follower().look()
    [second] = far.tick(run)
    assert (second.n, second.resumed_attempt, second.resumed_step) == (2, 1, 5)
    assert spec_of(second).argv[-2:] == ("--resume", f"../{first.key}/checkpoints/step-000005")
    assert second.origin == Origin.PREEMPTION and launching.count_restarts(run) == 0
    assert far.start(run).state == State.RUNNING.value


@HERE
def test_requeued_job_is_replaced_by_the_next_attempt(far: Far, experiment: Experiment) -> None:
    """esweb's jobs are not requeued, but an administrator may do it."""
    run = launch_run(experiment, restarts=1)
    running = far.start(run)
    far.fake.finish(running.key, 75, state="PENDING", stopped=True)
    assert far.tick(run)[0].state == State.QUEUED.value
    set_timeouts(settle=0.0)
    far.tick(run)
    assert run.attempts.get(n=1).state == State.INTERRUPTED.value
    [second] = far.tick(run)
    assert second.n == 2 and lease(running.directory) == CLOSED_EPOCH


ENDS_BY_SLURM = [
    ("TIMEOUT", State.TIMEOUT, "reached its time limit in Slurm (Slurm: TIMEOUT)"),
    ("OUT_OF_MEMORY", State.OOM, "Slurm killed it: it used more memory than it requested"),
]


@HERE
def test_end_by_slurm_is_reported_with_or_without_a_record(far: Far, experiment: Experiment) -> None:
    set_timeouts(exit_record=0.0)
    runs = [launch_run(experiment) for _ in ENDS_BY_SLURM * 2]
    far.tick()
    for run, (word, _, _), is_recorded in zip(runs, ENDS_BY_SLURM * 2, (True, True, False, False), strict=True):
        far.fake.start(key := attempt_of(run).key)
        if is_recorded:
            far.fake.finish(key, None, state=word, signal=9)
        else:
            far.fake.end(key, word)
    for ended, (_, state, reason) in zip(far.tick(*runs), ENDS_BY_SLURM * 2, strict=True):
        assert ended.state == state.value and ended.reason.startswith(reason)


@HERE
def test_job_that_its_node_did_not_launch_is_lost_with_the_node(far: Far, experiment: Experiment) -> None:
    set_timeouts(exit_record=0.0)
    run = launch_run(experiment, restarts=1)
    far.tick(run)
    [job] = far.fake.jobs_of(attempt_of(run).key)
    job.state, job.node = "CANCELLED", "n2"
    far.tick(run)
    first = run.attempts.get(n=1)
    assert first.state == State.NODE_LOST.value and first.reason.startswith("the node did not start it: Slurm: CANCEL")


@HERE
def test_job_that_slurm_lost_and_started_again_is_lost(far: Far, experiment: Experiment) -> None:
    set_timeouts(exit_record=0.0)
    run = launch_run(experiment)
    key = far.start(run).key
    [job] = far.fake.jobs_of(key)
    job.state, job.node = "PENDING", ""
    far.fake.start(key)
    [lost] = far.tick(run)
    assert lost.state == State.LOST.value and lease(lost.directory) == CLOSED_EPOCH
    assert lost.reason.startswith("far lost its record of the job and started it again: Slurm: FAILED")


@HERE
def test_strangers_jobs_are_never_touched(far: Far, experiment: Experiment) -> None:
    """Slurm gives a job's number again, and other accounts may use its name."""
    run = launch_run(experiment)
    key = far.start(run).key
    number = far.fake.running(key).native_id
    far.fake.forget()
    reused, other = far.fake.add("mine"), far.fake.add(key, is_ours=False)
    reused.native_id = number
    set_timeouts(gone=0.0)
    assert far.tick(run)[0].state == State.LOST.value
    slurm_of(far).cancel(key, 0.0)
    assert (reused.state, other.state, reused.signals, other.signals) == ("RUNNING", "RUNNING", [], [])


@HERE
def test_waiting_run_shows_slurms_reason(far: Far, experiment: Experiment, ada_client: Client) -> None:
    run = launch_run(experiment)
    far.tick(run)
    far.fake.jobs_of(attempt_of(run).key)[0].reason = "ReqNodeNotAvail, UnavailableNodes:n[1-3]"
    [waiting] = far.tick(run)
    assert waiting.reason.startswith("waiting: nodes that it needs are down, drained or reserved (Slurm: ReqNodeNot")
    assert waiting.reason in html.unescape(ada_client.get(run.get_absolute_url()).content.decode())


@OVER_SSH
def test_wrong_site_config_is_named_in_reason(far: Far, experiment: Experiment) -> None:
    set_timeouts(exit_record=0.0)
    run = launch_run(experiment)
    far.tick(run)
    attempt = attempt_of(run)
    (far.directory(attempt) / "slurm.log").write_text("esweb job: the module cuda/99 was not loaded\n")
    [job] = far.fake.jobs_of(attempt.key)
    job.state, job.reason, job.node = "FAILED", "NonZeroExitCode", "n1"
    [ended] = far.tick(run)
    assert ended.state == State.FAILED.value
    assert ended.reason.startswith("Slurm: FAILED, NonZeroExitCode, on n1: a module of the cluster's config was not")
    assert "(slurm.log: esweb job: the module" in ended.reason


@HERE
def test_accounting_reports_ended_jobs_and_no_running_ones(far: Far, tmp_path: Path) -> None:
    executor, first, second = slurm_of(far), spec(tmp_path, "ends"), spec(tmp_path, "runs")
    far.fake.accounted = []
    for job in (first, second):
        executor.submit(job)
        far.fake.start(job.key)
    far.fake.finish(first.key, 3)
    executor.cancel_requests.seconds_since_first(first.key)
    far.fake.forget()
    seen = executor.poll([first.key, second.key])
    ended = seen[first.key]
    assert ended and (ended.state, ended.nodes, ended.native_id) == (State.FAILED, "n1", "1")
    assert seen[second.key] is None and executor.find("esweb-other-a1") is None
    assert not list(executor.cancel_requests.folder.iterdir())
    far.fake.before["sacct"] = lambda: _raise(NotBegun("sacct cannot be run"))
    assert executor.find(first.key) is None


@HERE
def test_refusal_names_the_choices_and_leaves_no_job(far: Far, tmp_path: Path) -> None:
    for site, needs, reason in (
        ({"partition": "nosuch"}, {}, r"invalid partition.* \(there are high, low, lowgrace, main, short\)"),
        ({"account": "nolab"}, {}, "Invalid account or account/partition combination specified"),
        ({}, {"gpus": 99}, "Requested node configuration is not available$"),
    ):
        with pytest.raises(Rejected, match=reason):
            slurm_of(far, **site).submit(spec(tmp_path, **needs))
        assert slurm_of(far).find("esweb-x-a1") is None
    far.fake.before["sinfo"] = lambda: _raise(Unreachable("sinfo did not answer"))
    with pytest.raises(Rejected, match=r"Invalid partition name specified$"):
        slurm_of(far, partition="nosuch").submit(spec(tmp_path))


UNCLEAR = [
    (
        Reply(1, "", "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n"),
        "Socke",
    ),
    (Reply(1, "", ""), "sbatch failed with code 1 and no message"),
    (Reply(0, "what\n", ""), "^what$"),
    (Reply(0, "", "invalid\n"), "^invalid$"),
    (Reply(1, "17\n", "sbatch: error: spank: invalid answer of a plug-in\n"), "invalid answer of a plug-in"),
]


@HERE
def test_unclear_reply_to_sbatch_is_ambiguous(far: Far, tmp_path: Path) -> None:
    for reply, message in UNCLEAR:
        far.fake.replies["sbatch"] = reply
        with pytest.raises(Ambiguous, match=message):
            slurm_of(far).submit(spec(tmp_path))
    far.fake.before["sbatch"] = lambda: _raise(NotBegun("sbatch cannot be run"))
    with pytest.raises(NotBegun):
        slurm_of(far).submit(spec(tmp_path))
    far.fake.replies["sbatch"] = Reply(0, "17;big\n", "")
    assert slurm_of(far).submit(spec(tmp_path)) == "17"


@HERE
def test_unreadable_reply_is_unreachable(far: Far) -> None:
    executor = slurm_of(far)
    for command, ask in (("squeue", lambda: executor.poll(["a"])), ("sinfo", executor.node_shapes)):
        for reply in (Reply(0, "slurm_load_jobs: what is this\n", ""), Reply(2, "", "no such thing\n")):
            far.fake.replies[command] = reply
            with pytest.raises(Unreachable):
                ask()
    far.fake.replies["scancel"] = Reply(1, "", "scancel: error: no\n")
    with pytest.raises(Unreachable, match=r"^scancel: scancel: error: no$"):
        executor.cancel("a", 1.0)


@HERE
def test_cancel_is_repeated_until_the_cluster_replies(far: Far, experiment: Experiment) -> None:
    run = launch_run(experiment)
    running = far.start(run)
    launching.request_cancel(run)
    far.fake.replies["scancel"] = Reply(1, "", "scancel: error: Unable to contact slurm controller\n")
    assert not launching.cancel_job(attempt_of(run))
    reason = attempt_of(run).reason
    assert reason.startswith("to be cancelled as soon as far is reachable: scancel: scancel: error: Unable to contact")
    far.tick(run)
    assert far.fake.running(running.key).signals == ["TERM"]


@HERE
@each_case("field", ["partition", "account", "qos", "constraint", "gpu_type"])
def test_hostile_option_is_one_word_of_sbatch(far: Far, tmp_path: Path, field: str) -> None:
    """A text that an administrator's form refuses, as if it had been stored in another way."""
    hostile = f"main;touch${{IFS}}{tmp_path}/x $(touch {tmp_path}/x) --wrap=id"
    far.fake.replies["sbatch"] = Reply(0, "7\n", "")
    far.fake.commands.clear()
    job = replace(spec(tmp_path, gpus=1), directory=tmp_path / "a%j" / "x")
    slurm_of(far, **{field: hostile}).submit(job)
    argv = next(argv for argv in far.fake.commands if argv[0] == "sbatch")
    expected = f"--gres=gpu:{hostile}:1" if field == "gpu_type" else f"--{field}={hostile}"
    assert [word for word in argv if "touch" in word] == [expected]
    assert f"--output={tmp_path}/a%%j/x/slurm.log" in argv and not (tmp_path / "x").exists()


@HERE
def test_tick_reads_the_nodes_and_keeps_them_while_slurm_is_silent(far: Far, experiment: Experiment) -> None:
    far.tick()
    shapes = [shape for shape in inventory_of(far.row).shapes if shape.partition == "main"]
    assert sum(shape.count for shape in shapes) == NODES and {shape.gpu_type for shape in shapes} == set(GPU_TYPES)
    assert {(shape.cores, shape.memory_mb, shape.gpus) for shape in shapes} == {(CORES, MEMORY_MB, GPUS)}
    with pytest.raises(ConfigError, match=f"must be at most {NODES}, not {NODES + 1}: cluster far has no more nodes"):
        launch_run(experiment, nodes=NODES + 1)
    far.fake.is_away = True
    set_timeouts(inventory=0.0)
    before = inventory_of(far.row)
    far.tick()
    assert inventory_of(far.row) == before


def run_orphans_command(*arguments: str) -> str:
    out = StringIO()
    call_command("cluster", "orphans", "far", *arguments, stdout=out)
    return out.getvalue()


@HERE
def test_orphans_are_listed_and_cancelled_by_command(far: Far, experiment: Experiment) -> None:
    run = launch_run(experiment)
    key = far.start(run).key
    restored, stranger = far.fake.add("esweb-restored-a1"), far.fake.add("mine")
    far.fake.add("esweb-ending-a1", "COMPLETING")
    far.fake.add("esweb-ended-a1", "COMPLETED")
    [line] = run_orphans_command().splitlines()
    assert line.startswith("esweb-restored-a1\t") and key not in line
    with pytest.raises(CommandError, match="Unknown orphan 'mine'; the orphans are: esweb-restored-a1"):
        run_orphans_command("--cancel", "mine")
    run_orphans_command("--cancel", "esweb-restored-a1")
    assert run_orphans_command() == ""
    assert (restored.state, stranger.state, far.fake.running(key).state) == ("CANCELLED", "RUNNING", "RUNNING")


def _raise(error: Exception) -> None:
    raise error
