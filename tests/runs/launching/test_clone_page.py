"""Cloning from a page: the launch form has the run's settings at launch, whatever its config is today."""

import html

import pytest
from django.urls import reverse

from runs.launching.config_form import LaunchForm
from runs.launching.run_names import copy_name
from runs.models import Run
from tests.cases import each_case
from tests.runs.full_runs import make_run

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(experiment, local):
    """Create an ES run with settings of its own."""
    run = make_run(experiment, seed=7, state="succeeded")
    run.name = "mine"
    run.config["es"] |= {"sigma": 0.123, "iterations": 9}
    run.config["compute"]["restarts"] = 2
    run.save()
    return run


def form(client, run):
    answer = client.get(reverse("launch", args=[run.experiment_id]), {"clone": run.uid})
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def test_the_form_holds_the_config_of_the_run(ada_client, run):
    text = form(ada_client, run)
    for field in (
        f'name="cloned" value="{run.uid}"', "If empty: mine (copy), or", 'name="seeds" value="7"',
        'name="es.sigma" value="0.123"', 'name="es.iterations" value="9"', 'name="compute.restarts" value="2"',
    ):  # fmt: skip
        assert field in text
    assert "Clone a run" in text and "no longer fits" not in text


@each_case("name", ["es-tiny", "es-countdown-paper", "grpo-tiny", "grpo-countdown-paper"])
def test_sent_as_it_is_it_makes_the_same_config(experiment, name):
    run = make_run(experiment, name, seed=3)
    form = LaunchForm.from_run(run)
    values = {field.html_name: field.value() for field in form}
    sent = {name: value for name, value in values.items() if value is not None and value is not False}
    again = LaunchForm(sent, cloned=run)
    assert again.is_valid(), again.errors
    assert (again.configs, again.names()) == ([run.run_config], [f"{run.name} (copy)"])


def test_the_copy_of_a_copy_is_a_copy():
    assert copy_name("x" * 170 + " (copy)") == "x" * 170 + " (copy)"
    assert copy_name("x" * 200) == "x" * 193 + " (copy)"


@each_case(("changes", "names"), [
    ({}, ["mine (copy)"]),
    ({"es.sigma": "0.02"}, ["es-tiny iterations=9, σ=0.02, restarts=2 seed 7"]),
    ({"seeds": "8"}, ["es-tiny iterations=9, σ=0.123, restarts=2 seed 8"]),
    ({"es.sigma": "0.02", "name": "typed"}, ["typed"]),
    ({"seeds": "7-8"}, [f"es-tiny iterations=9, σ=0.123, restarts=2 seed {seed}" for seed in (7, 8)]),
])  # fmt: skip
def test_clone_with_changed_settings_is_named_by_them(ada_client, run, monkeypatch, changes, names):
    monkeypatch.setattr("runs.enqueue.send", lambda name, pk: None)
    fields = {field.html_name: field.value() for field in LaunchForm.from_run(run)}
    sent = {name: value for name, value in fields.items() if value not in (None, False)}
    address = reverse("launch-check", args=[run.experiment_id])
    sent |= {"cloned": run.uid, **changes}
    if "name" not in changes:
        assert f"<strong>{names[0]}</strong>" in ada_client.post(address, sent).content.decode()
    ada_client.post(reverse("launch", args=[run.experiment_id]), sent)
    assert list(Run.objects.exclude(pk=run.pk).order_by("pk").values_list("name", flat=True)) == names


def test_invalid_clone_is_still_a_clone_when_it_is_sent_again(ada_client, run):
    address = reverse("launch", args=[run.experiment_id])
    text = ada_client.post(address, {"cloned": run.uid, "seeds": "x"}).content.decode()
    assert "Clone a run" in text and f'name="cloned" value="{run.uid}"' in text
    assert "Nothing was launched" in text


def test_hidden_run_does_not_lend_its_name(bo_client, bo, experiment, private_experiment):
    hidden = make_run(private_experiment)
    own = type(experiment).objects.create(name="Bo's", owner=bo)
    fields = {field.html_name: field.value() for field in LaunchForm.from_run(hidden)}
    sent = {name: value for name, value in fields.items() if value not in (None, False)}
    text = bo_client.post(reverse("launch-check", args=[own.pk]), {**sent, "cloned": hidden.uid}).content.decode()
    assert "<strong>es-tiny seed 0</strong>" in text and "(copy)" not in text


def test_invalid_config_is_reported_at_its_fields_and_preserved(ada_client, run):
    run.config["es"] |= {"sigma": -1, "old_knob": 42}
    run.preset = "gone"
    run.save()
    text = form(ada_client, run)
    assert "The config of that run is no longer valid." in text
    assert 'id="id_es.sigma_error"' in text and 'name="es.sigma" value="-1"' in text
    assert "es.old_knob: is not a known key" in text and "Its value was 42" in text
    assert 'name="es.iterations" value="9"' in text and f'name="cloned" value="{run.uid}"' in text


def test_a_form_that_was_put_right_launches(ada_client, run, monkeypatch):
    monkeypatch.setattr("runs.enqueue.send", lambda name, pk: None)
    run.config["es"] |= {"old_knob": 42}
    form = LaunchForm.from_run(run)
    sent = {field.html_name: field.value() for field in form if field.value() not in (None, False, "")}
    answer = ada_client.post(reverse("launch", args=[run.experiment_id]), {**sent, "cloned": run.uid, "seeds": "8"})
    clone = Run.objects.exclude(pk=run.pk).get()
    assert answer["Location"] == clone.get_absolute_url()
    named = "es-tiny iterations=9, σ=0.123, restarts=2 seed 8"
    assert (clone.seed, clone.name, clone.config["es"]["sigma"]) == (8, named, 0.123)
    assert "old_knob" not in clone.config["es"]


def test_a_run_that_they_may_not_see_is_not_cloned(cy_client, cy, experiment, private_experiment):
    hidden = make_run(private_experiment)
    own = type(experiment).objects.create(name="Cy's", owner=cy)
    assert cy_client.get(reverse("launch", args=[own.pk]), {"clone": hidden.uid}).status_code == 404


def test_foreign_run_is_cloned_into_an_own_experiment(bo_client, bo, experiment, run):
    own = type(experiment).objects.create(name="Bo's", owner=bo)
    assert "mine (copy)" in bo_client.get(reverse("launch", args=[own.pk]), {"clone": run.uid}).content.decode()
    assert bo_client.get(reverse("launch", args=[experiment.pk]), {"clone": run.uid}).status_code == 403


def test_launch_again_with_another_value_fills_the_form_with_it(ada_client, run):
    address = reverse("launch", args=[run.experiment_id])
    answer = ada_client.get(address, {"clone": run.uid, "with": "es.sigma", "value": "0.5"})
    text = " ".join(html.unescape(answer.content.decode()).split())
    assert 'name="es.sigma" value="0.5"' in text
    assert 'name="es.iterations" value="9"' in text
    assert '<a href="#id_es.sigma">es.sigma</a> <strong>0.5</strong> (was 0.123)' in text


def test_fields_of_the_address_are_laid_over_a_clone_too(ada_client, run):
    answer = ada_client.get(reverse("launch", args=[run.experiment_id]), {"clone": run.uid, "seeds": "8-9"})
    assert 'name="seeds" value="8-9"' in answer.content.decode()


def test_unknown_field_is_reported_with_the_known_ones(ada_client, run):
    address = reverse("launch", args=[run.experiment_id])
    text = ada_client.get(address, {"clone": run.uid, "with": "es.speed", "value": "1"}).content.decode()
    assert "Unknown field es.speed" in text
    assert "es.sigma" in text


def test_a_choice_that_was_renamed_is_filled_in_by_its_present_name(run: Run) -> None:
    run.config["es"] = {**(run.config.get("es") or {}), "backend": "hf"}
    form = LaunchForm.from_run(run)
    assert not form.is_bound
    assert form["es.backend"].value() == "native"
    assert 'value="native" selected' in str(form["es.backend"])
