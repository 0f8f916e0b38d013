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
def handed(monkeypatch):
    """Attempts whose end was asked for."""
    found = []
    monkeypatch.setattr("runs.enqueue.send", lambda name, pk: found.append(pk))
    return found


def make(experiment, state="succeeded", seed=0):
    """A run with records and files."""
    run = make_run(experiment, seed=seed, state=state)
    record(run, a_bit_of_everything())
    directory = run.newest_attempt().directory / "checkpoints"
    directory.mkdir(parents=True)
    (directory / "weights").write_text("w")
    return run


def throw_away(rows, ago=LONG_AGO):
    rows.update(deleted_at=timezone.now() - ago)


def test_what_lies_in_the_bin_for_thirty_days_is_removed_with_its_files(experiment, runs_dir):
    gone, kept = make(experiment), make(experiment, seed=1)
    throw_away(Run.objects.filter(pk=gone.pk))
    for _ in range(2):
        tasks.purge_bin()
        assert list(Run.objects.all()) == [kept]
        assert not gone.root.exists()
        assert kept.root.exists()
    assert {response.run_id for response in Response.objects.all()} == {kept.pk}


def test_what_is_newer_stays(experiment, runs_dir):
    run = make(experiment)
    throw_away(Run.objects.all(), timedelta(days=DAYS_IN_BIN, hours=-1))
    tasks.purge_bin()
    assert run.root.exists()
    assert Run.objects.exists()


def test_an_experiment_goes_with_all_its_runs_and_views(ada, experiment, private_experiment, runs_dir):
    runs = [make(experiment), make(experiment, seed=1)]
    SavedView.objects.create(owner=ada, name="v", page="experiment", experiment=experiment)
    throw_away(Experiment.objects.filter(pk=experiment.pk))
    tasks.purge_bin()
    assert list(Experiment.objects.all()) == [private_experiment]
    assert not any(run.root.exists() for run in runs)
    assert not SavedView.objects.exists()


def test_a_run_that_still_runs_is_stopped_first_and_removed_when_it_has_ended(
    experiment, runs_dir, handed, django_capture_on_commit_callbacks
):
    run = make(experiment, "running")
    throw_away(Experiment.objects.all())
    with django_capture_on_commit_callbacks(execute=True):
        tasks.purge_bin()
    attempt = run.newest_attempt()
    assert handed == [attempt.pk]
    assert attempt.cancel_requested_at is not None
    assert run.root.exists()
    Attempt.objects.update(state="cancelled")
    tasks.purge_bin()
    assert not Experiment.objects.exists()
    assert not run.root.exists()


def test_a_run_whose_files_are_gone_already_is_removed(experiment, runs_dir):
    throw_away(Run.objects.filter(pk=make_run(experiment, state="failed").pk))
    tasks.purge_bin()
    assert not Run.objects.exists()


def test_files_that_cannot_be_removed_keep_the_run_in_the_bin(experiment, runs_dir, monkeypatch, caplog):
    run = make(experiment)
    throw_away(Run.objects.all())

    def refuse(path, **_):
        raise PermissionError(path)

    monkeypatch.setattr(commands.shutil, "rmtree", refuse)
    tasks.purge_bin()
    assert Run.objects.get() == run
    assert f"run {run.uid} cannot be removed" in caplog.text


def test_what_was_restored_meanwhile_is_not_removed(experiment, runs_dir):
    run = make(experiment)
    throw_away(Run.objects.all())
    stale = commands.expired_runs().get()
    restore(run)
    commands.purge_run(stale)
    assert run.root.exists()
    assert Run.objects.exists()
