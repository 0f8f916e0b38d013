import pytest
from django.contrib.auth.models import Group
from django.urls import reverse

from runs.models import SavedView
from tests.cases import each_case
from tests.runs.full_runs import make_run

pytestmark = pytest.mark.django_db


def save(client, name="mine", page="experiments", **sent):
    return client.post(reverse("saved-views"), {"name": name, "page": page, **sent}, follow=True)


def change(client, view, do, **sent):
    return client.post(reverse("saved-view-change", args=[view.pk]), {"do": do, **sent}, follow=True)


@pytest.fixture
def view(ada, experiment):
    return SavedView.objects.create(owner=ada, name="bad", page="experiment", experiment=experiment, query="q=kl%3E1")


def test_table_is_saved_and_opened_by_its_address(ada_client, experiment):
    make_run(experiment)
    assert "Save this view" in ada_client.get(experiment.get_absolute_url()).content.decode()
    query = "q=kl%3C1+seed:1..3&sort=-kl&col=kl&col=es.sigma&after=xyz"
    page = save(ada_client, "good", "experiment", experiment=experiment.pk, query=query)
    assert "Saved the view good." in page.content.decode()
    opened = ada_client.get(reverse("saved-view", args=[SavedView.objects.get().pk]), follow=True)
    table_query = opened.context["asked"]
    assert (table_query.line, table_query.order.word, [c.key for c in table_query.columns]) == (
        "kl<1 seed:1..3",
        "-kl",
        ["kl", "es.sigma"],
    )
    assert "good" in ada_client.get(reverse("saved-views")).content.decode()


def test_saving_under_the_same_name_replaces(ada_client, view):
    assert "Replaced the view bad." in save(ada_client, "bad", query="q=x").content.decode()
    saved = SavedView.objects.get()
    assert (saved.page, saved.experiment, saved.query) == ("experiments", None, "q=x")


def test_a_view_is_renamed_shared_and_deleted_by_its_owner(ada_client, bo_client, view):
    assert bo_client.get(reverse("saved-view", args=[view.pk])).status_code == 404
    change(ada_client, view, "rename", name="worse")
    change(ada_client, view, "share")
    assert "worse" in bo_client.get(reverse("saved-views")).content.decode()
    assert bo_client.get(reverse("saved-view", args=[view.pk]))["Location"] == view.target
    change(ada_client, view, "unshare")
    assert bo_client.get(reverse("saved-view", args=[view.pk])).status_code == 404
    change(ada_client, view, "delete")
    assert not SavedView.objects.exists()


def test_others_change_nothing_of_it(bo_client, view):
    assert change(bo_client, view, "delete").status_code == 404
    SavedView.objects.update(is_shared=True)
    for do in ("rename", "unshare", "delete"):
        assert change(bo_client, view, do, name="x").status_code == 403
    assert SavedView.objects.get().name == "bad"


def test_a_shared_view_of_a_private_experiment_is_seen_by_nobody_else(cy_client, ada, private_experiment):
    view = SavedView.objects.create(
        owner=ada, name="s", page="experiment", experiment=private_experiment, is_shared=True
    )
    assert cy_client.get(reverse("saved-view", args=[view.pk])).status_code == 404
    page = save(cy_client, "t", "experiment", experiment=private_experiment.pk).content.decode()
    assert "experiment: Select a valid choice" in page
    assert SavedView.objects.get() == view


@each_case(
    ("sent", "message"),
    [
        ({"name": ""}, "name: This field is required."),
        ({"page": "admin"}, "page: Select a valid choice"),
        ({"page": "experiment"}, "must name one that you may see"),
        ({"query": "x" * 9000}, "at most 8000 characters"),
    ],
)
def test_invalid_view_is_reported(ada_client, sent, message):
    assert message in save(ada_client, **sent).content.decode()
    assert not SavedView.objects.exists()


@each_case(
    ("do", "sent", "message"),
    [
        ("rename", {"name": " "}, "1 to 100 characters"),
        ("rename", {"name": "taken"}, "another view named taken"),
        ("burn", {}, "must be one of rename, share, unshare, delete"),
    ],
)
def test_invalid_change_of_a_view_is_reported(ada_client, ada, view, do, sent, message):
    SavedView.objects.create(owner=ada, name="taken", page="experiments")
    assert message in change(ada_client, view, do, **sent).content.decode()
    assert SavedView.objects.get(pk=view.pk).name == "bad"


def test_a_viewer_keeps_views_and_shares_none(bo_client, bo):
    bo.groups.add(Group.objects.get_or_create(name="viewers")[0])
    assert save(bo_client, "own").status_code == 200
    assert save(bo_client, "all", is_shared="on").status_code == 403
    view = SavedView.objects.get()
    assert change(bo_client, view, "share").status_code == 403
    assert not SavedView.objects.get().is_shared


def test_the_list_takes_as_many_queries_for_one_as_for_twelve(ada_client, ada, experiment, django_assert_num_queries):
    for n in (1, 11):
        for i in range(n):
            SavedView.objects.create(owner=ada, name=f"{n} {i}", page="experiment", experiment=experiment)
        with django_assert_num_queries(4):
            ada_client.get(reverse("saved-views"))
