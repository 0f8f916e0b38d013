from datetime import timedelta

import pytest
from django.utils import timezone

from runs.experiments.trash import commands, restore, tasks
from runs.models import Attempt, Experiment, Response, Run, SavedView
from runs.models.trash import DAYS_IN_BIN
from tests.runs.full_runs import a_bit_of_everything, make_run, record

pytestmark = pytest.mark.django_db
LONG_AGO = timedelta(days=DAYS_IN_BIN, hours=1)


@pytest.fixture
def cancelled(monkeypatch):
    """Collect the attempts that are asked to end."""
    attempts = []
    monkeypatch.setattr("runs.enqueue.send", lambda name, pk: attempts.append(pk))
    return attempts


def make(experiment, state="succeeded", seed=0):
    """Create a run with records and files."""
    run = make_run(experiment, seed=seed, state=state)
    record(run, a_bit_of_everything())
    directory = run.newest_attempt().directory / "checkpoints"
    directory.mkdir(parents=True)
    (directory / "weights").write_text("w")
    return run


def mark_deleted(rows, ago=LONG_AGO):
    rows.update(deleted_at=timezone.now() - ago)


def test_deleted_run_is_purged_with_its_files_after_thirty_days(experiment, runs_dir):
    gone, retained = make(experiment), make(experiment, seed=1)
    mark_deleted(Run.objects.filter(pk=gone.pk))
    for _ in range(2):
        tasks.purge_bin()
        assert list(Run.objects.all()) == [retained]
        assert not gone.root.exists()
        assert retained.root.exists()
    assert {response.run_id for response in Response.objects.all()} == {retained.pk}


def test_recently_deleted_run_is_not_purged(experiment, runs_dir):
    run = make(experiment)
    mark_deleted(Run.objects.all(), timedelta(days=DAYS_IN_BIN, hours=-1))
    tasks.purge_bin()
    assert run.root.exists()
    assert Run.objects.exists()


def test_an_experiment_goes_with_all_its_runs_and_views(ada, experiment, private_experiment, runs_dir):
    runs = [make(experiment), make(experiment, seed=1)]
    SavedView.objects.create(owner=ada, name="v", page="experiment", experiment=experiment)
    mark_deleted(Experiment.objects.filter(pk=experiment.pk))
    tasks.purge_bin()
    assert list(Experiment.objects.all()) == [private_experiment]
    assert not any(run.root.exists() for run in runs)
    assert not SavedView.objects.exists()


def test_running_run_is_stopped_before_its_purge(experiment, runs_dir, cancelled, django_capture_on_commit_callbacks):
    run = make(experiment, "running")
    mark_deleted(Experiment.objects.all())
    with django_capture_on_commit_callbacks(execute=True):
        tasks.purge_bin()
    attempt = run.newest_attempt()
    assert cancelled == [attempt.pk]
    assert attempt.cancel_requested_at is not None
    assert run.root.exists()
    Attempt.objects.update(state="cancelled")
    tasks.purge_bin()
    assert not Experiment.objects.exists()
    assert not run.root.exists()


def test_a_run_whose_files_are_gone_already_is_removed(experiment, runs_dir):
    mark_deleted(Run.objects.filter(pk=make_run(experiment, state="failed").pk))
    tasks.purge_bin()
    assert not Run.objects.exists()


def test_run_with_undeletable_files_stays_in_the_trash(experiment, runs_dir, monkeypatch, caplog):
    run = make(experiment)
    mark_deleted(Run.objects.all())

    def refuse(path, **_):
        raise PermissionError(path)

    monkeypatch.setattr(commands.shutil, "rmtree", refuse)
    tasks.purge_bin()
    assert Run.objects.get() == run
    assert f"run {run.uid} cannot be removed" in caplog.text


def test_run_restored_meanwhile_is_not_purged(experiment, runs_dir):
    run = make(experiment)
    mark_deleted(Run.objects.all())
    stale = commands.expired_runs().get()
    restore(run)
    commands.purge_run(stale)
    assert run.root.exists()
    assert Run.objects.exists()
