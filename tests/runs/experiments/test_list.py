import re

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse
from django.utils import timezone

from runs.models import Experiment
from tests.cases import each_case
from tests.runs.experiments.test_home_results import ended_run, flag_runs
from tests.runs.full_runs import evaluation, make_run, record
from workers.records import Metric

pytestmark = pytest.mark.django_db


def test_nobody_sees_anything_before_signing_in(client, experiment):
    response = client.get("/experiments/")
    assert response.status_code == 302
    assert response["Location"].startswith(reverse("login"))


def test_the_list_shows_questions_and_runs_by_state(ada_client, experiment):
    make_run(experiment)
    make_run(experiment, state="failed")
    page = ada_client.get("/experiments/").content.decode()
    assert "Does it learn to be concise?" in page
    assert "1 running" in page
    assert "1 failed" in page


def test_private_experiment_is_listed_only_for_its_owner(ada_client, bo_client, private_experiment):
    assert "Secret" in ada_client.get("/experiments/").content.decode()
    assert "Secret" not in bo_client.get("/experiments/").content.decode()


def test_search_takes_words_of_name_and_question(ada_client, experiment, private_experiment):
    page = ada_client.get("/experiments/?q=learn concise").content.decode()
    assert "Concise" in page
    assert "Secret" not in page


def test_search_without_result_suggests_the_next_step(ada_client, experiment):
    assert "Show all experiments" in ada_client.get("/experiments/?q=nosuch").content.decode()


def test_empty_list_explains_the_next_step(ada_client):
    page = ada_client.get("/experiments/").content.decode()
    assert "No experiment yet" in page
    assert "make demo" in page


def test_an_empty_list_offers_a_viewer_nothing_that_they_may_not_do(bo_client, bo):
    bo.groups.add(Group.objects.get_or_create(name="viewers")[0])
    page = bo_client.get("/experiments/").content.decode()
    assert "ask an administrator" in page
    assert "button above" not in page


def test_an_experiment_is_made_and_belongs_to_who_made_it(bo_client, bo):
    response = bo_client.post("/experiments/", {"name": "New", "question": "Why?"})
    created = Experiment.objects.get()
    assert (created.owner, created.name, created.is_private) == (bo, "New", False)
    assert response["Location"] == created.get_absolute_url()


def test_a_nameless_experiment_is_refused_and_nothing_typed_is_lost(bo_client):
    response = bo_client.post("/experiments/", {"name": "", "question": "Why on earth?"})
    assert response.status_code == 400
    assert "Why on earth?" in response.content.decode()
    assert not Experiment.objects.exists()


def best_of(client, query=""):
    """Return by experiment the names and the numbers of runs of the best runs that the list shows."""
    entries = client.get(f"/experiments/{query}").context["entries"]
    return {entry.experiment.name: [(best.row.run.name, best.n) for best in entry.best] for entry in entries}


def texts_of(client, query=""):
    """Return the best runs of each listed experiment as texts."""
    page = client.get(f"/experiments/{query}").content.decode()
    lists = re.findall(r'<ul class="best-results">(.*?)</ul>', page, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", " ", part).split()) for part in lists]


def test_each_experiment_shows_its_best_final_reward_with_the_metrics_of_the_task(ada_client, ada, experiment):
    ended_run(experiment, -40.0, -2.5, seed=1)
    ended_run(experiment, -1.5, -3.0, seed=2, state="failed")
    safety = make_run(Experiment.objects.create(name="Safe", owner=ada), "es-safety-tiny", state="succeeded")
    values = {"reward/mean": 1.25, "safety/safe_ratio": 0.75, "cost/mean": -1.5, "accuracy/right": 0.5}
    record(safety, [Metric(0, values, {})])
    assert best_of(ada_client) == {"Concise": [("es-tiny seed 1", 2)], "Safe": [(safety.name, 1)]}
    assert sorted(texts_of(ada_client)) == [
        "Reward 1.25 Safe ratio 75 % Cost −1.50 the only run es-safety-tiny seed 0",
        "Reward −2.50 Accuracy 90 % best of 2 runs es-tiny seed 1",
    ]


def test_flagged_best_run_is_followed_by_the_best_one_without_a_flag(ada_client, experiment):
    ended_run(experiment, -3.0, seed=1)
    flag_runs(ended_run(experiment, -1.0, seed=2))
    assert best_of(ada_client) == {"Concise": [("es-tiny seed 2", 2), ("es-tiny seed 1", 2)]}
    (text,) = texts_of(ada_client)
    assert "⚑" in text and "best without a flag es-tiny seed 1" in text


@each_case(
    ("state", "reason"),
    [
        (None, "There are no runs yet."),
        ("running", "No run has ended with a held-out reward yet."),
        ("failed", "All runs ended without a finite held-out reward."),
    ],
)
def test_experiment_without_a_final_reward_has_a_dash_and_its_reason(ada_client, experiment, state, reason):
    if state:
        record(make_run(experiment, state=state), [evaluation(0, float("nan"))])
    assert f'<span title="{reason}">–' in ada_client.get("/experiments/").content.decode()
    assert texts_of(ada_client) == [f"Reward – {reason}"]


def test_best_runs_of_archived_experiments_are_on_their_list_alone(ada_client, experiment):
    ended_run(experiment, -2.5, seed=1)
    Experiment.objects.update(archived_at=timezone.now())
    assert best_of(ada_client) == {}
    assert best_of(ada_client, "?shelf=archived") == {"Concise": [("es-tiny seed 1", 1)]}


def test_best_runs_of_private_experiments_are_hidden_from_others(bo_client, private_experiment):
    ended_run(private_experiment, -2.5)
    assert best_of(bo_client) == {}


def test_the_number_of_queries_does_not_grow_with_the_list(ada_client, ada, django_assert_num_queries, experiment):
    ended_run(experiment, -1.0)
    with django_assert_num_queries(15):
        ada_client.get("/experiments/")
    for i in range(15):
        other = Experiment.objects.create(name=f"E{i}", owner=ada)
        for seed in range(2):
            ended_run(other, -2.0, seed=seed)
    with django_assert_num_queries(15):
        assert len(best_of(ada_client)) == 16
