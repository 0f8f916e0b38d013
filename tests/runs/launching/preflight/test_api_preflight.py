"""The API checks a run before its launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs.models import Cluster, Experiment, Run
from tests.runs.api_client import calls, paths
from tests.runs.full_runs import make_run
from tests.runs.launching.test_launch_check import took
from tests.runs.model_files import QWEN2_7B, write_model_config

pytestmark = pytest.mark.django_db
CONFIG = {
    "method": "es", "es": {"prompts": 200, "max_new_tokens": 1024, "iterations": 100, "checkpoint_every": 10},
    "compute": {"gpus": 1}, "model": {"path": "qwen"},
}  # fmt: skip


@pytest.fixture
def script(ada: User, local: Cluster, tmp_path: Path) -> Client:
    """Return Ada's script. The cluster allows a model of 7B parameters."""
    write_model_config(tmp_path / "qwen", QWEN2_7B)
    local.config = {"data_paths": [str(tmp_path)], "gpus": ["0"]}
    local.save()
    return calls(ada)


def post(client: Client, **body: Any) -> Any:
    return client.post("/api/v1/preflight", body, content_type="application/json")


def test_preflight_states_memory_disk_hours_and_needs(script: Client) -> None:
    checked = post(script, config=CONFIG).json()

    assert [card["fits"] for card in checked["memory"]["cards"]] == [False, False, True, True]
    # 7.6 · 10⁹ parameters in bfloat16, and in float32, which the checkpoint of the last step lacks.
    assert checked["disk"]["checkpoints"] == 10
    assert checked["disk"]["checkpoint_bytes"] == pytest.approx(45.7e9, rel=0.01)
    assert checked["disk"]["total_bytes"] == 2 * checked["disk"]["checkpoint_bytes"]
    assert checked["disk"]["left_bytes"] == pytest.approx(15.2e9, rel=0.01)
    assert checked["disk"]["free_bytes"] > 0
    assert checked["hours"] == {
        "median_seconds": None, "low_seconds": None, "high_seconds": None, "past_runs": 0, "gpu_hours": None,
        "cpu_hours": None,
    }  # fmt: skip
    assert {need["name"]: need["state"] for need in checked["needs"]} == {"Rights": "ok", "Model": "ok"}
    assert not Run.objects.exists() and not Experiment.objects.exists()


def test_preflight_estimates_hours_by_past_runs(script: Client, experiment: Experiment) -> None:
    for seconds in (1800, 3600, 7200):
        took(experiment, seconds)
    hours = post(script, preset="es-micro").json()["hours"]

    assert (hours["median_seconds"], hours["low_seconds"], hours["high_seconds"]) == (3600, 1800, 7200)
    assert (hours["past_runs"], hours["cpu_hours"], hours["gpu_hours"]) == (3, 1, 0)


def test_preflight_has_a_problem_if_no_card_is_large_enough(script: Client, tmp_path: Path) -> None:
    write_model_config(tmp_path / "huge", QWEN2_7B | {"num_hidden_layers": 280})
    checked = post(script, config=CONFIG | {"model": {"path": "huge"}}).json()

    assert checked["verdict"] == "problem" and not any(card["fits"] for card in checked["memory"]["cards"])


def test_preflight_knows_no_sizes_of_a_model_that_is_not_here(script: Client) -> None:
    checked = post(script, config=CONFIG | {"model": {"path": "meta-llama/Llama-3.1-8B"}}).json()

    assert checked["verdict"] == "unknown" and checked["disk"]["parts"] is None
    [model] = [need for need in checked["needs"] if need["name"] == "Model"]
    assert model["state"] == "unknown" and "gated model also needs a token" in model["sentence"]


def test_preflight_plans_vllm(script: Client) -> None:
    checked = post(script, config=CONFIG | {"es": {"backend": "vllm", "prompts": 200}}).json()

    cards = checked["memory"]["vllm_cards"]
    assert [(card["card_gb"], card["fits"]) for card in cards] == [(24, True), (40, True), (80, True), (141, True)]
    assert [card["master_on_host"] for card in cards] == [True, True, False, False]
    assert checked["memory"]["cards"] == []


def test_preflight_states_that_a_scorer_is_not_registered(script: Client, local: Cluster) -> None:
    local.config |= {"site_url": "http://127.0.0.1:1"}
    local.save()
    task = {"name": "safety", "options": {"scorer": "beaver"}}
    checked = post(script, preset="es-micro", config={"task": task}).json()

    assert checked["verdict"] == "problem"
    [scorer] = [need for need in checked["needs"] if need["name"] == "Scorer"]
    assert scorer["state"] == "missing" and "beaver is not registered" in scorer["sentence"]


def test_preflight_refuses_what_a_launch_refuses(script: Client) -> None:
    assert "must be above 0" in paths(post(script, config={"method": "es", "es": {"sigma": -1}}))["es.sigma"]
    answer = post(script, config=CONFIG | {"model": {"path": "/etc/passwd"}})
    assert answer.status_code == 422 and "must be tiny or micro" in paths(answer)["model.path"]
    assert post(script, config=CONFIG, more=1).status_code == 422


def test_preflight_needs_scope_launch(script: Client, ada: User) -> None:
    assert post(calls(ada, "read"), preset="es-micro").status_code == 403
    assert post(Client(), preset="es-micro").status_code == 401


def test_preflight_shows_no_runs_of_others(
    bo: User, script: Client, private_experiment: Experiment, local: Cluster
) -> None:
    took(private_experiment, 60)
    run = make_run(private_experiment)

    assert post(calls(bo), preset="es-micro").json()["hours"]["past_runs"] == 0
    refused = post(calls(bo), preset="es-micro", config={"model": {"path": f"run:{run.uid}@5"}})
    assert "you see no such run" in paths(refused)["model.path"]
