import pytest
from django.urls import reverse

from runs.models import Run
from tests.cases import each_case
from tests.runs.full_runs import a_bit_of_everything, make_run, record

pytestmark = pytest.mark.django_db


@pytest.fixture
def three(experiment):
    return [make_run(experiment, seed=seed, state=state) for seed, state in enumerate(("running", "failed", "failed"))]


def do(client, experiment, action, runs=(), **sent):
    sent = {"do": action, "run": [run.uid for run in runs], **sent}
    return client.post(reverse("experiment-bulk", args=[experiment.pk]), sent, follow=True)


def undo(client, experiment):
    return client.post(reverse("experiment-undo", args=[experiment.pk]), {"back": "sort=name"}, follow=True)


def names(response):
    return sorted(row.run.seed for row in response.context["table"].rows)


def test_runs_are_archived_vanish_from_the_table_and_come_back_by_undo(ada_client, experiment, three):
    page = do(ada_client, experiment, "archive", three[:2])
    assert names(page) == [2]
    assert "Archived 2 runs." in page.content.decode()
    assert names(ada_client.get(experiment.get_absolute_url(), {"q": "archived:yes"})) == [0, 1]
    page = undo(ada_client, experiment)
    assert names(page) == [0, 1, 2]
    assert page.redirect_chain[0][0].endswith("?sort=name")
    assert not Run.objects.filter(archived_by__isnull=False).exists()
    assert "There is nothing to undo." in undo(ada_client, experiment).content.decode()


def test_runs_are_deleted_and_restored_as_they_were(ada_client, experiment, three):
    before = Run.objects.values().get(pk=three[1].pk)
    page = do(ada_client, experiment, "delete", [three[1]])
    assert names(page) == [0, 2]
    assert ada_client.get(three[1].get_absolute_url()).status_code == 404
    undo(ada_client, experiment)
    assert Run.objects.values().get(pk=three[1].pk) == before


def test_deleting_a_run_that_runs_stops_it(ada_client, experiment, three):
    do(ada_client, experiment, "delete", three)
    assert three[0].newest_attempt().cancel_requested_at is not None


def test_undo_removes_a_tag_only_from_runs_that_got_it(ada_client, experiment, three):
    Run.objects.filter(pk=three[0].pk).update(tags=["best", "old"])
    assert "Tagged 2 runs: best." in do(ada_client, experiment, "tag", three, tag=" best ").content.decode()
    assert [run.tags for run in Run.objects.order_by("seed")] == [["best", "old"], ["best"], ["best"]]
    undo(ada_client, experiment)
    assert [run.tags for run in Run.objects.order_by("seed")] == [["best", "old"], [], []]
    do(ada_client, experiment, "untag", three, tag="old")
    assert Run.objects.get(pk=three[0].pk).tags == ["best"]


def test_bulk_action_applies_to_all_matches_of_the_query(ada_client, experiment, three):
    do(ada_client, experiment, "tag", tag="seen", all="1", back="q=state:failed")
    assert sorted(Run.objects.filter(tags=["seen"]).values_list("seed", flat=True)) == [1, 2]


def test_a_query_with_a_mistake_takes_none(ada_client, experiment, three):
    page = do(ada_client, experiment, "delete", all="1", back="q=state:fail")
    assert "Select at least one run" in page.content.decode()
    assert Run.objects.filter(deleted_at=None).count() == 3


def test_cancelling_takes_those_that_run_and_leaves_the_others(ada_client, experiment, three):
    assert "Cancelling 1 run" in do(ada_client, experiment, "cancel", three).content.decode()
    assert three[0].newest_attempt().cancel_requested_at is not None


def test_comparing_opens_the_chosen_runs(ada_client, experiment, three):
    page = do(ada_client, experiment, "compare", three[:2])
    assert page.redirect_chain == [(f"/compare/?run={three[1].uid}&run={three[0].uid}", 302)]


@each_case(
    ("action", "sent", "message"),
    [
        ("burn", {}, "must be one of compare, responses, judge, tag, untag, cancel, archive, unarchive, delete, not"),
        ("tag", {"tag": " "}, "Enter a tag of 1 to 50 characters."),
        ("tag", {"tag": "x" * 51}, "Enter a tag of 1 to 50 characters."),
        ("archive", {"run": ["nosuch"]}, "Select at least one run."),
    ],
)
def test_invalid_bulk_action_is_reported_and_changes_nothing(ada_client, experiment, three, action, sent, message):
    page = do(ada_client, experiment, action, three[1:], **sent)
    assert message in page.content.decode()
    assert Run.objects.filter(tags=[], archived_at=None, deleted_at=None).count() == 3


@each_case("action", ["tag", "cancel", "archive", "delete"])
def test_bulk_action_leaves_foreign_runs_unchanged(bo_client, bo, experiment, three, action):
    assert "may change it" in do(bo_client, experiment, action, three, tag="mine").content.decode()
    Run.objects.filter(pk=three[1].pk).update(created_by=bo)
    page = do(bo_client, experiment, action, three, tag="mine")
    assert "2 selected runs are not yours" in page.content.decode()
    untouched = Run.objects.filter(tags=[], archived_at=None, deleted_at=None)
    assert set(untouched) >= {three[0], three[2]}
    assert three[0].newest_attempt().cancel_requested_at is None


def test_strangers_reach_no_run_of_a_private_experiment(cy_client, private_experiment):
    run = make_run(private_experiment)
    assert do(cy_client, private_experiment, "delete", [run]).status_code == 404
    assert undo(cy_client, private_experiment).status_code == 404


def test_undo_needs_the_right_still(ada_client, ada, bo, experiment, three):
    do(ada_client, experiment, "archive", three)
    experiment.owner = bo
    experiment.save()
    Run.objects.update(created_by=bo)
    assert "Undone for 0 runs" in undo(ada_client, experiment).content.decode()
    assert Run.objects.filter(archived_at=None).count() == 0


def judge(client, experiment, runs, **sent):
    """Press the button that judges these runs, and return the response before the redirect."""
    sent = {"do": "judge", "run": [run.uid for run in runs], **sent}
    return client.post(reverse("experiment-bulk", args=[experiment.pk]), sent)


def test_judging_offers_the_selected_runs_with_responses_to_a_new_tournament(ada_client, experiment, three):
    for run in three[1:]:
        record(run, a_bit_of_everything())
    response = judge(ada_client, experiment, three)
    assert response["Location"] == f"{reverse('tournament-new')}?run={three[2].uid}&run={three[1].uid}"
    assert ada_client.get(response["Location"]).status_code == 200
    assert judge(ada_client, experiment, [], all="1", back="q=seed:1")["Location"].endswith(f"?run={three[1].uid}")


def test_runs_that_cannot_be_judged_are_refused_with_the_reason(ada_client, experiment, three, monkeypatch):
    assert "Select at least one run." in do(ada_client, experiment, "judge").content.decode()
    page = do(ada_client, experiment, "judge", three).content.decode()
    assert "None of the selected runs has responses yet" in page
    for run in three:
        record(run, a_bit_of_everything())
    monkeypatch.setattr("runs.experiments.bulk.MAX_JUDGED_RUNS", 2)
    page = do(ada_client, experiment, "judge", three).content.decode()
    assert "A tournament can have at most 2 runs, not 3: select fewer." in page
