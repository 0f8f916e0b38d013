"""Experiments and runs are archived and deleted, and restored unchanged."""

import pytest

from runs.experiments import trash
from runs.models import Experiment, Run
from tests.runs.full_runs import end, make_run


@pytest.fixture
def run(experiment):
    return make_run(experiment)


@pytest.mark.parametrize("model", [Experiment, Run])
def test_archived_rows_are_unlisted_and_still_readable(ada, run, model):
    thing = run if model is Run else run.experiment
    trash.archive(thing, ada)
    thing.refresh_from_db()
    first = thing.archived_at
    assert (thing.archived_by, model.objects.current().exists()) == (ada, False)
    assert model.objects.visible_to(ada).exists()
    trash.archive(thing, ada)
    assert thing.archived_at == first
    trash.unarchive(thing)
    assert model.objects.current().exists()


@pytest.mark.parametrize("model", [Experiment, Run])
def test_deleted_rows_are_hidden_until_restored(ada, run, model):
    thing = run if model is Run else run.experiment
    (trash.delete_run if model is Run else trash.delete_experiment)(thing, ada)
    assert not Run.objects.visible_to(ada).exists()
    assert model.objects.permitted_to(ada).get().deleted_by == ada
    trash.restore(thing)
    assert Run.objects.visible_to(ada).get() == run


def test_deleted_run_is_cancelled(ada, run):
    trash.delete_run(run, ada)
    assert run.newest_attempt().cancel_requested_at is not None
    assert Run.objects.get().deleted_at is not None


def test_deleted_experiment_cancels_its_active_runs(ada, run, experiment):
    ended, waiting = make_run(experiment), make_run(experiment)
    for other in (ended, waiting):
        end(other, "failed")
    Run.objects.filter(pk__in=[ended.pk, waiting.pk]).update(state="failed")
    waiting.attempts.update(restart_at="2030-01-01T00:00Z")
    trash.delete_experiment(experiment, ada)
    assert run.newest_attempt().cancel_requested_at is not None
    assert ended.newest_attempt().cancel_requested_at is None
    assert not waiting.waits_to_restart
