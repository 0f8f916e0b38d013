import re

import pytest
from django.urls import reverse

from runs.launching.config_form import LaunchForm, initial_from
from runs.models import Run
from tests.cases import each_case
from workers.config import presets
from workers.config.methods import METHODS
from workers.config.tasks import TASKS

pytestmark = pytest.mark.django_db


@pytest.fixture
def address(experiment):
    return reverse("launch", args=[experiment.pk])


@pytest.fixture
def queued(monkeypatch):
    """Collect the attempts that are sent to the queue."""
    sent = []
    monkeypatch.setattr("runs.enqueue.send", lambda name, pk: sent.append(pk))
    return sent


def sent(preset="es-micro", **typed):
    filled = {k: v for k, v in initial_from(presets()[preset].config).items() if v is not None and v is not False}
    return {"preset": preset, "seeds": "0", "name": "", **filled, **typed}


def test_a_preset_fills_the_form(ada_client, address):
    page = ada_client.get(address, {"preset": "es-tiny-reckless"}).content.decode()
    assert 'name="es.sigma" value="0.03"' in page
    assert presets()["es-tiny-reckless"].why in page


@each_case("task", sorted(TASKS))
def test_page_shows_the_options_of_the_selected_task_alone(ada_client, address, task):
    page = ada_client.get(address, {"preset": "es-tiny", "task.name": task}).content.decode()
    options = re.findall(r'data-tasks="(\w+)"\s+(hidden)?', page)
    assert {name for name, hidden in options if not hidden} == {task}
    assert {name for name, hidden in options if hidden} == TASKS.keys() - {task}
    shown = next(part.fields for part in LaunchForm().parts() if part.slug == "task")
    essential = {field.name for field in shown if field.name.startswith(f"task.{task}.")}
    assert essential == {f"task.{task}.{option}" for option in TASKS[task].essential}


@each_case("method", list(METHODS))
def test_page_shows_the_sections_of_the_selected_method_alone(ada_client, address, method):
    page = ada_client.get(address, {"preset": "es-tiny", "method": method}).content.decode()
    sections = re.findall(r'id="part-(\w+)"(?:\s+data-methods="[^"]*")?( hidden)?>', page)
    linked = re.findall(r'href="#part-(\w+)"(?:\s+data-methods="[^"]*")?( hidden)?>', page)
    hidden = {name for name, is_hidden in sections if is_hidden}
    assert hidden == {*METHODS, *METHODS[method].unread_sections} - {method}
    assert hidden == {name for name, is_hidden in linked if is_hidden}
    is_every_shown = not re.search(r'data-methods="[^"]*"\s+hidden\s+data-find="evaluation.every', page)
    assert is_every_shown == METHODS[method].is_training


def test_the_address_fills_single_fields(ada_client, address):
    page = ada_client.get(address, {"preset": "es-tiny", "es.sigma": "0.5", "seeds": "7"}).content.decode()
    assert 'name="es.sigma" value="0.5"' in page
    assert 'name="seeds" value="7"' in page


def test_an_unknown_preset_is_answered_with_the_known_ones(ada_client, address):
    answer = ada_client.get(address, {"preset": "nosuch"})
    page = answer.content.decode()
    assert answer.status_code == 404
    assert "preset must be one of" in page
    assert "grpo-tiny" in page


def test_a_launch_makes_the_run_and_hands_it_to_the_queue(
    ada_client, ada, address, queued, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        response = ada_client.post(address, sent())
    run = Run.objects.get()
    assert response["Location"] == run.get_absolute_url()
    assert (run.name, run.preset, run.method, run.created_by) == ("es-micro seed 0", "es-micro", "es", ada)
    assert queued == [run.newest_attempt().pk]


def test_several_seeds_lead_back_to_the_experiment(ada_client, experiment, address, queued):
    response = ada_client.post(address, sent("grpo-micro", seeds="0, 1"))
    assert response["Location"] == experiment.get_absolute_url()
    assert sorted(Run.objects.values_list("seed", flat=True)) == [0, 1]


def test_a_wrong_form_launches_nothing_and_keeps_what_was_typed(ada_client, address, queued):
    response = ada_client.post(address, sent(**{"es.sigma": "tiny", "es.population": "1", "seeds": "0, 1"}))
    page = response.content.decode()
    assert response.status_code == 400
    assert not Run.objects.exists()
    assert 'value="tiny"' in page
    assert page.count("must be a number, not &#x27;tiny&#x27;") == 2
    assert "must be at least 2 and at most 100000, not 1" in page
    assert 'aria-invalid="true"' in page


def test_a_cluster_that_does_not_exist_is_a_problem_of_that_field(ada_client, address, queued):
    response = ada_client.post(address, sent(**{"compute.cluster": "nosuch"}))
    page = response.content.decode()
    assert response.status_code == 400
    assert "local" in page
    assert 'id="id_compute.cluster_error"' in page
    assert not Run.objects.exists()


def test_only_the_owner_launches(bo_client, address):
    assert bo_client.get(address).status_code == 403
    assert bo_client.post(address, sent()).status_code == 403
    assert not Run.objects.exists()
