"""An attempt runs the code of its submission, even if the code changes while the attempt waits."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest

from runs import launching
from runs.clusters.settings import config_errors
from runs.launching import code
from runs.launching.submit import spec_of
from runs.models import Experiment
from tests.runs.local_cluster import Small, attempt_of, run_of, tick_until, tick_until_true
from workers.code import PACKAGE, code_of, fingerprint, unpack_package
from workers.executors.states import State

WRITE_CODE_PATH = "import workers; open('ran-from', 'w').write(workers.__file__)"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the code of this esweb, as a copy that may be changed."""
    folder = tmp_path / "project" / "workers"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code, "code_of", partial(code_of, folder))
    monkeypatch.setattr(code, "unpack_package", partial(unpack_package, package=folder))
    return folder


def test_code_is_pinned_before_the_submission(experiment: Experiment, small: Small, package: Path) -> None:
    pinned: list[object] = []
    small.before_submit = lambda: pinned.append(attempt_of(run).code)  # type: ignore[method-assign]
    run = run_of(experiment)
    launching.submit_job(attempt_of(run))
    assert pinned == [{"sha256": fingerprint(package), "version": "0.1.0", "commit": "", "is_dirty": False,
                       "diff_sha256": ""}]  # fmt: skip


def test_edits_during_the_wait_do_not_affect_an_attempt(experiment: Experiment, small: Small, package: Path) -> None:
    small.program = WRITE_CODE_PATH
    run = run_of(experiment)
    small.after_submit = lambda: (package / "__init__.py").write_text("raise SystemExit(9)")  # type: ignore[method-assign]
    before = fingerprint(package)
    launching.submit_job(attempt_of(run))
    ended = tick_until(run, State.SUCCEEDED.value, State.FAILED.value)
    ran_from = Path((ended.directory / "ran-from").read_text()).parent
    assert fingerprint(ran_from) == before != fingerprint(package)


def test_trainer_gets_the_fingerprint_of_its_code(experiment: Experiment, small: Small, package: Path) -> None:
    run = run_of(experiment)
    launching.submit_job(attempt_of(run))
    argv = spec_of(attempt_of(run)).argv
    assert argv[-2:] == ("--code", fingerprint(package))
    cluster = attempt_of(run).cluster
    cluster.config["other_code"] = "refuse"
    cluster.save()
    assert spec_of(attempt_of(run)).argv[-4:] == ("--code", fingerprint(package), "--other-code", "refuse")


def test_code_is_pinned_once(experiment: Experiment, small: Small, package: Path) -> None:
    run = run_of(experiment)
    first, second = attempt_of(run), attempt_of(run)
    code.pin(first)
    (package / "train.py").write_text("pass\n")
    code.pin(second)
    code.pin(first)
    assert first.code == second.code == attempt_of(run).code


def test_restart_runs_the_old_code_and_resume_the_new(experiment: Experiment, small: Small, package: Path) -> None:
    small.program = "raise SystemExit(1)"
    run = run_of(experiment, restarts=1)
    launching.submit_job(attempt_of(run))
    tick_until(run, State.FAILED.value)
    (package / "train.py").write_text("pass\n")
    tick_until_true(run, "attempt 2", lambda a: a.n == 2)
    tick_until(run, State.FAILED.value)
    launching.submit_job(launching.create_resume_attempt(run))
    first, second, third = run.attempts.order_by("n")
    assert first.code == second.code
    assert third.code["sha256"] == fingerprint(package) != first.code["sha256"]


def test_a_cluster_with_code_of_its_own_runs_that(experiment: Experiment, small: Small, package: Path) -> None:
    attempt = attempt_of(run_of(experiment))
    code.pin(attempt)
    attempt.cluster.kind, attempt.cluster.config = "slurm", {"project": "/shared/esweb"}
    assert "PYTHONPATH" not in code.code_environment(attempt)
    assert attempt.command()[-2:] == ("--code", fingerprint(package))


def test_pinned_code_comes_first_on_the_python_path(
    experiment: Experiment, small: Small, package: Path, tmp_path: Path
) -> None:
    attempt = attempt_of(run_of(experiment))
    code.pin(attempt)
    attempt.cluster.config = {"env": {"PYTHONPATH": "/shared/more"}}
    folder = tmp_path / "code" / fingerprint(package)
    assert code.code_environment(attempt) == {"PYTHONPATH": f"{folder}:/shared/more"}


def test_code_of_each_attempt_is_stored_as_one_file(experiment: Experiment, small: Small, package: Path) -> None:
    run = run_of(experiment)
    assert launching.bundle_file(attempt_of(run)) is None
    launching.submit_job(attempt_of(run))
    bundle = launching.bundle_file(attempt_of(run))
    assert bundle is not None and bundle.name == f"{fingerprint(package)}.pyz"


def test_code_changed_during_pinning_is_pinned_on_retry(
    experiment: Experiment, small: Small, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change_code() -> object:
        pinned_code = code_of(package)
        (package / "train.py").write_text("pass\n")
        return pinned_code

    run = run_of(experiment)
    with monkeypatch.context() as patch:
        patch.setattr(code, "code_of", change_code)
        launching.submit_job(attempt_of(run))
    assert attempt_of(run).code is None and "changed while it was pinned" in attempt_of(run).reason
    launching.submit_job(attempt_of(run))
    assert attempt_of(run).code["sha256"] == fingerprint(package)


def test_a_cluster_warns_or_refuses_and_nothing_else() -> None:
    assert not [*config_errors({"other_code": "refuse"})]
    assert [*config_errors({"other_code": "shrug"})] == ["other_code must be one of warn, refuse, not 'shrug'"]
