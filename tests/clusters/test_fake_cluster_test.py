"""The test of a cluster, on fakes: every step is reported, and a failed one names the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from runs.clusters import submit_host_of
from runs.clusters.connection_test import advance_test, begin_test, trial
from runs.models import ClusterTest
from tests.clusters.fakes import InProcessSsh
from tests.clusters.fakes.far import ALSO_OVER_SSH, HERE, ON_SLURM, Far
from workers.client.machine import environment
from workers.executors.base import NotBegun, Unreachable
from workers.executors.shell import Reply
from workers.records import RecordWriter, Status

COMMON = ["submit", "ran", "records", "environment"]
SLURM_STEPS = ["reach", "commands", "nodes", "folder", *COMMON, "orphans"]
STEPS = {"ray": ["reach", "nodes", *COMMON], "slurm": SLURM_STEPS, "ssh": SLURM_STEPS}


def messages(test: ClusterTest) -> dict[str, str]:
    return {step["name"]: step["said"] for step in test.steps}


def failure(far: Far, **config: Any) -> str:
    """Return the step that fails with this config, and its message."""
    before = far.row.config
    far.configure(**config)
    test = begin_test(far.row, None)
    assert advance_test(test) and test.steps[-1]["failed"] and test.has_failed
    far.configure(**{**dict.fromkeys(config), **before})
    return f"{test.steps[-1]['name']}: {test.steps[-1]['said']}"


def run_job(far: Far, test: ClusterTest, torch: Status) -> None:
    """Let the job of the test run, and write the two records of its program."""
    key = f"esweb-test{test.pk}-t"
    far.fake.start(key)
    assert not advance_test(test) and test.waits_for.startswith("on ")
    here = Path(settings.RUNS_DIR) / f"test{test.pk}" / key
    with RecordWriter(Path(submit_host_of(far.row).cluster_path(here)), 0) as writer:
        writer.write(environment())
        writer.write(torch)
    far.fake.finish(key)


@ALSO_OVER_SSH
def test_cluster_test_passes_all_steps(far: Far, tmp_path: Path) -> None:
    test = begin_test(far.row, None)
    assert begin_test(far.row, None) == test
    assert not advance_test(test) and "waiting" in test.waits_for
    run_job(far, test, Status("done", "torch 2, 0 GPUs"))
    assert advance_test(test) and not test.has_failed, test.steps
    assert [step["name"] for step in test.steps] == STEPS[far.kind]
    texts = messages(test)
    assert texts["submit"].startswith("job ")
    assert "CPython 3" in texts["environment"] and "torch 2" in texts["environment"]
    assert texts["records"] == ("2 records, over SSH" if far.kind == "ssh" else "2 records")
    assert "cores" in texts["nodes"] and texts["ran"].startswith("it ran for 1.0 s")
    if far.kind != "ray":
        assert (texts["commands"], texts["orphans"]) == ("slurm 22.05.8", "none")
        assert texts["reach"].startswith("ssh://ada@far replied" if far.kind == "ssh" else "this machine replied")
    assert far.row.answered_at is not None and not list((tmp_path / "runs").iterdir())
    assert begin_test(far.row, None) != test


@HERE
def test_orphans_are_reported_and_fail_no_step(far: Far) -> None:
    far.fake.add("esweb-old-a1")
    test = begin_test(far.row, None)
    advance_test(test)
    run_job(far, test, Status("done", "torch 2, 0 GPUs"))
    assert advance_test(test) and not test.has_failed
    assert messages(test)["orphans"].startswith("no run here belongs to esweb-old-a1 (job 1, RUNNING); see ./manage.py")


@HERE
def test_unusable_torch_fails_its_step(far: Far) -> None:
    test = begin_test(far.row, None)
    advance_test(test)
    run_job(far, test, Status("failed", "torch cannot be used: No module named torch"))
    assert advance_test(test) and test.has_failed and test.steps[-1]["name"] == "environment"
    assert "see python, modules and env in its config" in test.steps[-1]["said"]


@ON_SLURM
def test_job_that_did_not_run_names_the_remedy(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    test = begin_test(far.row, None)
    assert not advance_test(test)
    # The time that the file of a finished job may take to appear.
    monkeypatch.setattr(trial, "SECONDS", 0.0)
    key = f"esweb-test{test.pk}-t"
    here = Path(settings.RUNS_DIR) / f"test{test.pk}" / key
    log = "log.txt" if far.kind == "ray" else "slurm.log"
    there = Path(submit_host_of(far.row).cluster_path(here))
    (there / log).write_text("/usr/bin/env: '/opt/none/python': No such file or directory\n")
    far.fake.start(key)
    far.fake.end(key, "FAILED")
    assert advance_test(test) and test.has_failed and test.steps[-1]["name"] == "ran"
    assert test.steps[-1]["said"].startswith("the interpreter is not on the node: see python in the cluster's config")


@HERE
def test_silent_or_refusing_slurm_is_named_with_remedy(far: Far) -> None:
    assert failure(far, partition="nosuch").startswith("submit: invalid partition specified: nosuch; Batch job")
    far.fake.is_away = True
    assert failure(far) == "commands: squeue: squeue: error: Unable to contact slurm controller (connect failure)"
    far.fake.is_away = False
    far.fake.replies["scancel --version"] = Reply(127, "", "scancel: no such library\n")
    assert failure(far) == "commands: scancel --version: scancel: no such library"
    far.fake.before["sbatch --version"] = lambda: _raise(NotBegun("sbatch cannot be run"))
    assert failure(far) == "commands: sbatch cannot be run; it must be on the PATH of a non-interactive login"
    assert far.row.unreachable_since_at is not None


@pytest.mark.parametrize("far", ["ssh"], indirect=True)
def test_failed_connection_and_folder_are_named_with_remedy(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    assert failure(far, folder="/proc/none").startswith("folder: on ada@far: /proc/none")
    monkeypatch.setattr(InProcessSsh, "ask", lambda *_: _raise(NotBegun("ada@far: nothing listens on its port")))
    reason = "reach: ada@far: nothing listens on its port; see address, key_file and known_hosts in its config"
    assert failure(far) == reason


@pytest.mark.parametrize("far", ["ray"], indirect=True)
def test_refused_token_is_named_with_remedy(far: Far, tmp_path: Path) -> None:
    (tmp_path / "wrong").write_text("nonsense")
    far.fake.token = "secret"
    reason = failure(far, token_file=str(tmp_path / "wrong"))
    assert reason.startswith("reach: ") and "refuses access: see token_file" in reason
    assert reason.endswith("see dashboard and token_file in its config")


@HERE
def test_job_of_a_failed_test_is_cancelled_or_named(far: Far) -> None:
    far.fake.replies["sinfo"] = Reply(0, "", "")
    far.fake.lose_reply_to_submit()
    first = begin_test(far.row, None)
    assert advance_test(first) and first.steps[-1]["said"] == "sbatch did not answer within 30 s"
    assert messages(first)["nodes"] == "it lists no nodes, so launches are not checked against them"
    assert far.fake.jobs_of(f"esweb-test{first.pk}-t")[0].state == "CANCELLED"
    second = begin_test(far.row, None)
    far.fake.after["sbatch"] = lambda: _go_away(far)
    assert advance_test(second)
    assert second.steps[-1]["said"] == (
        "sbatch did not answer. Its job may still exist: scancel: scancel: error: "
        "Unable to contact slurm controller (connect failure)"
    )


def _go_away(far: Far) -> None:
    far.fake.is_away = True
    raise Unreachable("sbatch did not answer")


def _raise(error: Exception) -> None:
    raise error
