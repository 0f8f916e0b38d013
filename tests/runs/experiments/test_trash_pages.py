"""Changing, archiving, deleting and restoring experiments and runs from their pages."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse
from django.utils import timezone

from runs.models import Experiment, Run
from tests.cases import each_case
from tests.runs.full_runs import make_run

pytestmark = pytest.mark.django_db


def shelve(client, experiment, do, **sent):
    return client.post(reverse("experiment-shelve", args=[experiment.pk]), {"do": do, **sent}, follow=True)


def edit(client, experiment, **sent):
    fields = {"name": "Concise", "question": "", "tags": "", "note": "", **sent}
    return client.post(reverse("experiment-edit", args=[experiment.pk]), fields, follow=True)


def listed(client, **query):
    return [entry.experiment.name for entry in client.get("/experiments/", query).context["entries"]]


def test_an_experiment_is_renamed_tagged_and_annotated(ada_client, experiment):
    page = edit(ada_client, experiment, name="New", question="Why?", tags=" paper, pilot,paper,", note="# Head\n\n*so*")
    experiment.refresh_from_db()
    assert (experiment.name, experiment.question, experiment.tags) == ("New", "Why?", ["paper", "pilot"])
    assert "<h3>Head</h3>" in page.content.decode()
    assert "<em>so</em>" in page.content.decode()
    assert 'value="paper, pilot"' in ada_client.get(reverse("experiment-edit", args=[experiment.pk])).content.decode()


@each_case(
    ("sent", "message"),
    [
        ({"name": ""}, "This field is required."),
        ({"tags": "x" * 51}, "A tag has at most 50 characters"),
        ({"tags": ",".join(map(str, range(21)))}, "At most 20 tags are allowed, not 21."),
    ],
)
def test_invalid_edit_is_reported_and_input_is_preserved(ada_client, experiment, sent, message):
    page = edit(ada_client, experiment, note="long thoughts", **sent)
    assert page.status_code == 400
    assert message in page.content.decode()
    assert "long thoughts" in page.content.decode()
    experiment.refresh_from_db()
    assert experiment.note == ""


@each_case(
    "note",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "![x](//elsewhere.example/track.png)",
        "<a href='javascript:alert(1)'>x</a>",
        "[x](data:text/html,<script>alert(1)</script>)",
    ],
)
def test_a_note_runs_nothing_and_fetches_nothing(ada_client, experiment, note):
    page = edit(ada_client, experiment, note=note).content.decode()
    start = page.index('aria-label="Note"')
    section = page[start : page.index("</section>", start)]
    assert not any(bad in section for bad in ("<script", "<img", 'href="javascript', 'href="data'))


def test_an_archived_experiment_leaves_the_list_keeps_its_address_and_comes_back(ada_client, experiment):
    page = shelve(ada_client, experiment, "archive").content.decode()
    assert "Archived Concise." in page
    assert listed(ada_client) == []
    assert listed(ada_client, shelf="archived") == ["Concise"]
    assert ada_client.get(experiment.get_absolute_url()).status_code == 200
    shelve(ada_client, experiment, "unarchive", undo="1")
    assert listed(ada_client) == ["Concise"]
    assert "Archived Concise." not in ada_client.get("/experiments/").content.decode()


def test_deleted_experiment_is_only_in_the_trash_and_restorable(ada_client, experiment):
    run = make_run(experiment, state="succeeded")
    before = Experiment.objects.values().get(), Run.objects.values().get()
    shelve(ada_client, experiment, "delete")
    assert listed(ada_client) == listed(ada_client, shelf="archived") == []
    for address in (experiment.get_absolute_url(), run.get_absolute_url()):
        assert ada_client.get(address).status_code == 404
    text = ada_client.get(reverse("bin")).content.decode()
    assert "Concise" in text
    assert "29 days left" in text
    shelve(ada_client, experiment, "restore", undo="1")
    assert (Experiment.objects.values().get(), Run.objects.values().get()) == before
    assert ada_client.get(run.get_absolute_url()).status_code == 200


def test_deleting_an_experiment_stops_what_runs_of_it(ada_client, experiment):
    run = make_run(experiment)
    shelve(ada_client, experiment, "delete")
    assert run.newest_attempt().cancel_requested_at is not None


def test_deleted_run_is_restored_from_the_trash(ada_client, experiment):
    run = make_run(experiment, state="failed")
    Run.objects.update(deleted_at=timezone.now() - timedelta(days=3))
    text = ada_client.get(reverse("bin")).content.decode()
    assert run.name in text
    assert "26 days left" in text
    page = ada_client.post(reverse("run-restore", args=[run.uid]), follow=True)
    assert page.redirect_chain == [(run.get_absolute_url(), 302)]
    assert f"Restored {run.name}." in page.content.decode()
    assert "The trash is empty" in ada_client.get(reverse("bin")).content.decode()


def test_other_users_cannot_see_or_change_the_trash(bo_client, experiment):
    run = make_run(experiment, state="failed")
    assert edit(bo_client, experiment, name="Mine").status_code == 403
    assert shelve(bo_client, experiment, "delete").status_code == 403
    Run.objects.update(deleted_at=timezone.now())
    assert bo_client.post(reverse("run-restore", args=[run.uid])).status_code == 404
    assert "The trash is empty" in bo_client.get(reverse("bin")).content.decode()
    Experiment.objects.update(deleted_at=timezone.now())
    assert "The trash is empty" in bo_client.get(reverse("bin")).content.decode()


def test_strangers_find_no_private_experiment_to_change(cy_client, private_experiment):
    assert edit(cy_client, private_experiment).status_code == 404
    assert shelve(cy_client, private_experiment, "delete").status_code == 404


def test_viewers_make_no_experiment(bo_client, bo):
    bo.groups.add(Group.objects.get_or_create(name="viewers")[0])
    assert bo_client.post("/experiments/", {"name": "New"}).status_code == 403
    assert "New experiment" not in bo_client.get("/experiments/").content.decode()


def test_unknown_action_is_refused(ada_client, experiment):
    assert (
        "must be one of archive, unarchive, delete, restore" in shelve(ada_client, experiment, "burn").content.decode()
    )


def test_search_finds_tags_and_notes(ada_client, experiment):
    edit(ada_client, experiment, tags="pilot", note="the learning rate was wrong")
    assert listed(ada_client, q="pilot rate") == ["Concise"]


def test_trash_shows_the_last_sixty_experiments_of_a_total(ada_client, ada):
    for n in range(61):
        Experiment.objects.create(name=f"x{n}", owner=ada, deleted_at=timezone.now())
    page = ada_client.get(reverse("bin")).content.decode()
    assert "60 of 61 experiments shown" in page
    assert "x60" in page
    assert "<strong>x0</strong>" not in page


def test_number_of_trash_queries_is_equal_for_one_and_twelve(ada_client, ada, experiment, django_assert_num_queries):
    for count in (1, 11):
        for seed in range(count):
            make_run(experiment, seed=seed, state="failed")
            Experiment.objects.create(name="x", owner=ada, deleted_at=timezone.now())
        Run.objects.update(deleted_at=timezone.now())
        with django_assert_num_queries(6):
            ada_client.get(reverse("bin"))
