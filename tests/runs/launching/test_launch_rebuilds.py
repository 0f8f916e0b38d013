"""A checkpoint that was not saved is rebuilt once by its own job, also after kills, and purged in the end."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from runs import launching
from runs.ingest import ingest
from runs.launching import rebuilds, reconcile
from runs.launching.submit import spec_of
from runs.models import Experiment, Rebuild, Run
from tests.cases import each_case
from tests.runs.attempt_records import lines
from tests.runs.launching.test_launch_resumes import make_ended_run
from tests.runs.local_cluster import Small, attempt_of, tick_until
from tests.waiting import wait_until
from tests.workers.attempts import RUNS_LONG
from workers.attempt import owner
from workers.executors.states import State
from workers.records import Member, Population

MAKES = """
import json, os, pathlib, sys, time
key = pathlib.Path.cwd().name
step = int(key.split("-")[2].removeprefix("r"))
folder = pathlib.Path(f"step-{step:06d}")
pathlib.Path(f"{folder}.progress.json").write_text(json.dumps({"done": 1, "of": 4}))
while not pathlib.Path("go").exists() and pathlib.Path("../wait").exists(): time.sleep(0.01)
folder.mkdir()
(folder / "model.safetensors").write_bytes(b"w" * 100)
print("sha256 " + "ab" * 32)
"""


@pytest.fixture
def run(experiment: Experiment, small: Small) -> Run:
    """Return an ES run that has reached step 40 and ended."""
    small.program = MAKES
    run = make_ended_run(experiment)
    ingest(attempt_of(run), 0, lines([Population(40, (Member(0, 1.0, z=1.0),))]))
    return run


def ticked(rebuild: Rebuild) -> Rebuild:
    assert reconcile.reconcile_cluster(rebuild.cluster)
    return Rebuild.objects.select_related("run", "cluster").get(pk=rebuild.pk)


def tick_rebuild(rebuild: Rebuild, state: State) -> Rebuild:
    return tick_rebuild_until(rebuild, f"the rebuild to be {state.value}", lambda r: r.state == state.value)


def tick_rebuild_until(rebuild: Rebuild, awaited: str, is_true: Callable[[Rebuild], object]) -> Rebuild:
    """Tick until `is_true` of the rebuild, and return it. `awaited`: see `wait_until`."""

    def newest_if_true() -> Rebuild | None:
        newest = ticked(rebuild)
        return newest if is_true(newest) else None

    return wait_until(newest_if_true, awaited, details=lambda: Rebuild.objects.values().get(pk=rebuild.pk))


def rebuilt(run: Run, step: int) -> Rebuild:
    return tick_rebuild(rebuilds.rebuild_checkpoint(run, step, run.created_by), State.SUCCEEDED)


def test_the_job_is_the_replay_of_that_step_without_a_gpu(run: Run, small: Small) -> None:
    run.config["compute"] |= {"gpus": 4, "cores": 2, "time_limit_seconds": 5}
    spec = spec_of(rebuilds.rebuild_checkpoint(run, 33, run.created_by))
    out = "step-000033"
    assert spec.argv[1:] == (
        "-m", "workers.engines.es.replay", str(run.root), "--step", "33", "--out", out, "--device", "cpu",
    )  # fmt: skip
    assert (spec.cores, spec.gpus, spec.time_limit_seconds) == (2, 0, 0)
    assert spec.directory.parent == run.root and spec.directory.name.startswith(f"esweb-{run.uid}-r33-")


def test_rebuild_reports_progress_and_result(run: Run, small: Small) -> None:
    (run.root / "wait").mkdir(parents=True)
    rebuild = rebuilds.rebuild_checkpoint(run, 33, run.created_by)
    tick_rebuild_until(rebuild, "a quarter of the progress", lambda r: r.progress == 0.25)
    assert not rebuilds.is_ready(ticked(rebuild))
    (rebuild.directory / "go").touch()
    done = tick_rebuild(rebuild, State.SUCCEEDED)
    assert (done.sha256, done.bytes, done.progress) == ("ab" * 32, 100, 1.0)
    assert rebuilds.checkpoint_at(run, 33) == done.folder
    assert small.submitted == [done.key]
    run.refresh_from_db()
    assert run.state == State.INTERRUPTED.value and run.attempts.count() == 1


def test_repeated_request_creates_one_job(run: Run, small: Small) -> None:
    first = rebuilds.rebuild_checkpoint(run, 33, run.created_by)
    assert rebuilds.rebuild_checkpoint(run, 33, run.created_by) == first
    tick_rebuild(first, State.SUCCEEDED)
    assert rebuilds.rebuild_checkpoint(run, 33, run.created_by) == first
    assert small.submitted == [first.key]


def test_failed_replay_has_a_reason_and_can_be_retried(run: Run, small: Small) -> None:
    small.program = "import sys; sys.exit('the base model has changed since')"
    first = tick_rebuild(rebuilds.rebuild_checkpoint(run, 33, run.created_by), State.FAILED)
    assert first.reason == "ended with exit code 1: the base model has changed since"
    assert rebuilds.checkpoint_at(run, 33) is None
    small.program = MAKES
    again = rebuilt(run, 33)
    assert again.key != first.key and not first.directory.exists()
    assert Rebuild.objects.count() == 1


def test_a_replay_that_leaves_no_folder_has_failed(run: Run, small: Small) -> None:
    small.program = "pass"
    failed = tick_rebuild(rebuilds.rebuild_checkpoint(run, 33, run.created_by), State.FAILED)
    assert failed.reason == "the replay ended without creating step-000033"


def test_a_manager_that_is_killed_starts_it_once(run: Run, small: Small) -> None:
    rebuild = rebuilds.rebuild_checkpoint(run, 33, run.created_by)
    for _ in range(2):
        launching.submit_job(Rebuild.objects.select_related("run", "cluster").get(pk=rebuild.pk))
    tick_rebuild(rebuild, State.SUCCEEDED)
    assert small.submitted == [rebuild.key]


def test_an_agent_that_is_killed_makes_it_lost(run: Run, small: Small) -> None:
    small.program = RUNS_LONG
    rebuild = tick_rebuild(rebuilds.rebuild_checkpoint(run, 33, run.created_by), State.RUNNING)
    agent = owner(rebuild.directory)
    assert agent is not None
    agent.send(signal.SIGKILL)
    assert tick_rebuild(rebuild, State.LOST).reason == "its agent stopped without an exit record"


def test_rebuild_can_be_stopped_and_ends_with_esweb(run: Run, small: Small) -> None:
    small.program = RUNS_LONG
    first = tick_rebuild(rebuilds.rebuild_checkpoint(run, 33, run.created_by), State.RUNNING)
    launching.request_end(first, run.created_by)
    tick_rebuild(first, State.CANCELLED)
    second = tick_rebuild(rebuilds.rebuild_checkpoint(run, 34, run.created_by), State.RUNNING)
    assert reconcile.interrupt_local(5.0) == [second.key]
    assert Rebuild.objects.get(step=34).state == State.INTERRUPTED.value


def test_only_the_newest_rebuilds_are_retained(run: Run, small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runs.launching.rebuilds.commands.MAX_REBUILDS_PER_RUN", 2)
    rebuilds = [rebuilt(run, step) for step in range(3)]
    retained = set(Rebuild.objects.values_list("step", flat=True))
    assert retained == {1, 2}
    assert [r.directory.exists() for r in rebuilds] == [r.step in retained for r in rebuilds]


@each_case("step", [-1, 41, 2**70])
def test_a_step_that_it_has_not_reached_is_refused(run: Run, step: int) -> None:
    with pytest.raises(rebuilds.CannotRebuild, match="a whole number from 0 to 40"):
        rebuilds.rebuild_checkpoint(run, step, run.created_by)


def test_run_may_resume_during_a_rebuild(run: Run, small: Small) -> None:
    """A rebuild is no attempt: it takes nothing from the run, and the run takes nothing from it."""
    small.program = RUNS_LONG
    rebuild = tick_rebuild(rebuilds.rebuild_checkpoint(run, 33, run.created_by), State.RUNNING)
    launching.create_resume_attempt(run)
    tick_until(run, State.RUNNING.value)
    assert ticked(rebuild).state == State.RUNNING.value
