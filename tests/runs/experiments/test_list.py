import pytest
from django.contrib.auth.models import Group
from django.urls import reverse

from runs.models import Experiment
from tests.runs.full_runs import make_run

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


def test_the_number_of_queries_does_not_grow_with_the_list(ada_client, ada, django_assert_num_queries, experiment):
    with django_assert_num_queries(6):
        ada_client.get("/experiments/")
    for i in range(15):
        make_run(Experiment.objects.create(name=f"E{i}", owner=ada))
    with django_assert_num_queries(6):
        ada_client.get("/experiments/")
