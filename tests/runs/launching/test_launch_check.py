"""Messages of the launch form while it is filled in: every problem at its field, and the estimated time."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.models import Run
from tests.runs.full_runs import make_run
from tests.runs.launching.test_launch_page import sent

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def check_form(ada_client, experiment, local):
    """Return a function that posts the form and returns the reply's text."""

    def ask(**typed):
        answer = ada_client.post(reverse("launch-check", args=[experiment.pk]), sent(**typed))
        assert answer.status_code == 200
        return " ".join(answer.content.decode().split())

    return ask


def took(experiment, seconds, name="es-micro", **changes):
    run = make_run(experiment, name, Run.objects.count(), "succeeded")
    run.config[run.method] |= changes
    run.save()
    run.attempts.update(started_at=NOON, ended_at=NOON + timedelta(seconds=seconds))
    return run


def test_a_good_form_is_ready_and_launches_nothing(check_form):
    text = check_form(seeds="0-2")
    assert "Ready: 3 runs." in text
    assert not Run.objects.exists()


def test_problems_appear_at_their_fields_and_in_the_list(check_form):
    text = check_form(**{"es.sigma": "tiny", "es.population": "1"})
    assert "2 problems to fix" in text
    assert '<a href="#id_es.sigma">es.sigma</a> must be a number' in text
    at_field = text.split("hx-swap-oob=\"innerHTML:[id='id_es.population_problems']\">")[1].lstrip()
    expected = '<ul class="errors" id="id_es.population_error"><li>must be at least 2 and at most 100000, not 1'
    assert at_field.startswith(expected)


def test_unknown_cluster_is_reported(check_form):
    assert "must be one of local, not &#x27;moon&#x27;" in check_form(**{"compute.cluster": "moon"})


def test_without_past_runs_there_is_no_estimate(check_form, experiment):
    took(experiment, 60, "grpo-micro")
    took(experiment, 60, population=99)
    assert "No time estimate yet" in check_form()


def test_estimate_is_the_median_of_past_runs_with_their_range(check_form, experiment):
    for seconds in (60, 90, 180):
        took(experiment, seconds)
    text = check_form()
    assert "It takes about <strong>1 min 30 s</strong> once it has started (1 min 00 s to 3 min 00 s)" in text
    assert "estimated from 3 past runs of this model and size from this preset on this cluster." in text


def test_estimate_scales_with_the_number_of_steps(check_form, experiment):
    steps = took(experiment, 60).config["es"]["iterations"]
    text = check_form(**{"es.iterations": str(2 * steps)})
    assert "about <strong>2 min 00 s</strong>" in text
    assert "scaled to as many steps" in text


def test_estimate_uses_only_runs_on_as_many_nodes(check_form, experiment):
    past = took(experiment, 60)
    # An earlier version had neither setting.
    del past.config["compute"]["nodes"], past.config["compute"]["gpu_type"]
    past.save()
    assert "It takes about <strong>1 min 00 s</strong>" in check_form()
    past.config["compute"]["nodes"] = 2
    past.save()
    assert "No time estimate yet" in check_form()


def test_estimate_ignores_failed_and_hidden_runs(bo_client, check_form, experiment, private_experiment):
    took(private_experiment, 60)
    failed = took(experiment, 60)
    Run.objects.filter(pk=failed.pk).update(state="failed")
    assert "It takes about <strong>1 min 00 s</strong>" in check_form()
    own = type(experiment).objects.create(name="Bo's", owner=bo_client.get("/").wsgi_request.user)
    answer = bo_client.post(reverse("launch-check", args=[own.pk]), sent()).content.decode()
    assert "No time estimate yet" in answer


def test_user_without_launch_rights_gets_no_estimate(cy_client, private_experiment):
    assert cy_client.post(reverse("launch-check", args=[private_experiment.pk]), sent()).status_code == 404


def test_the_number_of_queries_does_not_grow_with_past_runs(check_form, experiment):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            check_form()
        return len(captured)

    took(experiment, 60)
    before = queries()
    for _ in range(5):
        took(experiment, 60)
    assert queries() == before


def test_default_name_states_the_changed_settings(check_form):
    assert "Name: <strong>es-micro σ=0.5 seed 0</strong>." in check_form(**{"es.sigma": "0.5"})
    assert "Name: <strong>es-micro seed 0</strong>, …." in check_form(seeds="0, 1")
    assert "Name:" not in check_form(name="mine")


def test_model_that_must_be_made_first_is_stated_until_it_exists(
    check_form, ada_client, experiment, settings, tmp_path
):
    settings.CACHE_DIR = tmp_path
    note = "The first run also makes the micro model, once: a few seconds."
    launch = reverse("launch", args=[experiment.pk])
    assert note in check_form()
    assert note in ada_client.get(launch, {"preset": "es-micro"}).content.decode()
    assert "also makes" not in check_form(**{"model.path": "Qwen/Qwen2.5-7B"})
    folder = tmp_path / "models" / "micro-0123456789ab-0"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    assert note not in check_form()
    assert note not in ada_client.get(launch, {"preset": "es-micro"}).content.decode()
    assert "the tiny model, once: about a minute on two cores." in check_form(**{"model.path": "tiny"})


def test_sweep_states_the_models_that_its_runs_make(check_form, settings, tmp_path):
    settings.CACHE_DIR = tmp_path
    text = check_form(**{"sweep-key_1": "model.path", "sweep-values_1": "micro, tiny", "sweep-at_once": "2"})
    assert "makes the micro model" in text and "makes the tiny model" in text
