import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from runs.models import Experiment, Run, SavedView
from tests.runs.full_runs import make_run

pytestmark = pytest.mark.django_db


def test_deleted_rows_are_hidden_and_restorable(ada, experiment):
    run = make_run(experiment)
    for row, rows in ((run, Run.objects), (experiment, Experiment.objects)):
        row.deleted_at = timezone.now()
        row.save()
        assert not rows.visible_to(ada).exists()
        assert rows.permitted_to(ada).get() == row
        row.deleted_at = None
        row.save()
        assert rows.visible_to(ada).get() == row


def test_runs_of_a_deleted_experiment_are_hidden(ada, experiment):
    make_run(experiment)
    Experiment.objects.update(deleted_at=timezone.now())
    assert not Run.objects.visible_to(ada).exists()


def test_archived_rows_are_visible_but_not_current(ada, experiment):
    Experiment.objects.update(archived_at=timezone.now())
    assert Experiment.objects.visible_to(ada).exists()
    assert not Experiment.objects.current().exists()


def test_runs_that_differ_in_their_seed_alone_share_a_recipe(experiment):
    run, other, different = (make_run(experiment, *args) for args in (("es-tiny", 0), ("es-tiny", 7), ("grpo-tiny", 0)))
    assert run.recipe == other.recipe != different.recipe


def test_a_saved_view_of_a_private_experiment_is_shared_with_nobody_else(ada, bo, experiment, private_experiment):
    for name, where in (("a", experiment), ("b", private_experiment)):
        SavedView.objects.create(owner=ada, name=name, page="experiment", experiment=where, is_shared=True)
    SavedView.objects.create(owner=ada, name="c", page="experiments")
    assert [v.name for v in SavedView.objects.visible_to(bo)] == ["a"]
    assert [v.name for v in SavedView.objects.visible_to(ada).order_by("name")] == ["a", "b", "c"]


def test_a_saved_view_of_an_experiment_names_it(ada):
    with pytest.raises(IntegrityError), transaction.atomic():
        SavedView.objects.create(owner=ada, name="a", page="experiment")


def test_saved_view_has_an_address(ada, experiment):
    view = SavedView(owner=ada, name="a", page="experiment", experiment=experiment, query="q=kl%3C1")
    assert view.target == f"/experiments/{experiment.pk}/?q=kl%3C1"
