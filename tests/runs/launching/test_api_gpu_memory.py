"""The API plans the GPU memory of a run before its launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from esweb.api import api
from runs.models import Cluster, Experiment, Run
from tests.runs.api_client import calls, paths
from tests.runs.model_files import QWEN2_7B, write_model_config

pytestmark = pytest.mark.django_db
CONFIG = {"es": {"prompts": 200, "max_new_tokens": 1024}, "compute": {"gpus": 1}, "model": {"path": "qwen"}}


@pytest.fixture
def script(ada: User, local: Cluster, tmp_path: Path) -> Client:
    """Return Ada's script. The cluster allows a model of 7B parameters."""
    write_model_config(tmp_path / "qwen", QWEN2_7B)
    local.config = {"data_paths": [str(tmp_path)]}
    local.save()
    return calls(ada)


def post(client: Client, **body: Any) -> Any:
    return client.post("/api/v1/gpu-memory", body, content_type="application/json")


def test_gpu_memory_is_planned_for_each_card_and_nothing_is_made(script: Client) -> None:
    plan = post(script, config={"method": "es", **CONFIG}).json()
    small, large = plan["cards"][0], plan["cards"][3]

    assert (plan["reason"], plan["prompts"], plan["prompts_assumed"], plan["prompt_tokens"]) == (
        "",
        200,
        False,
        512,
    )
    assert [card["card_gb"] for card in plan["cards"]] == [24, 40, 80, 141]
    assert (small["fits"], small["rows"]) == (False, 8) and "at most 21.3 GB can be used" in small["reason"]
    assert (large["fits"], large["reason"], large["members"]) == (True, "", 30)
    assert (large["weight_sets"], large["rows"]) == (2, 400)
    assert sum(large["parts_gb"].values()) == pytest.approx(large["needed_gb"])
    assert not Run.objects.exists() and not Experiment.objects.exists()


def test_gpu_memory_states_the_share_of_each_card(script: Client) -> None:
    plans = [post(script, config={"method": "es", **CONFIG, "compute": {"gpus": gpus}}).json() for gpus in (1, "auto")]
    assert [plan["gpu_share"] for plan in plans] == [1, None]
    assert [card["auto_share"] for card in plans[1]["cards"]] == [1.0] * 4
    assert plans[0]["cards"] == plans[1]["cards"]
    quarter = post(script, config={"method": "es", **CONFIG, "compute": {"gpus": 0.25}}).json()
    assert quarter["gpu_share"] == 0.25 and quarter["cards"][3]["usable_gb"] < 36


def test_gpu_memory_lays_the_config_over_a_preset(script: Client) -> None:
    plan = post(script, preset="es-micro", config={"model": {"path": "qwen"}, "compute": {"gpus": 1}}).json()

    assert not plan["prompts_assumed"] and len(plan["cards"]) == 4


def test_gpu_memory_has_a_reason_without_a_gpu(script: Client) -> None:
    plan = post(script, preset="es-micro").json()

    assert (plan["cards"], plan["reason"]) == ([], "The run uses no GPU; memory is planned for GPUs only.")


def test_gpu_memory_of_grpo_has_phases_and_remedies(script: Client) -> None:
    config = {"method": "grpo", "grpo": {}, "compute": {"gpus": 1}, "model": {"path": "qwen"}}
    plan = post(script, config=config).json()
    small, _, _, large = plan["grpo_cards"]

    assert (plan["reason"], plan["cards"], plan["vllm_cards"], plan["prompts"]) == ("", [], [], 1)
    assert (large["card_gb"], large["processes"], large["fits"]) == (141, 1, False)
    assert large["needed_gb"] == max(large["phases_gb"].values()) > large["usable_gb"]
    assert large["parts_gb"]["optimizer"] == pytest.approx(60.9, abs=0.1)
    assert [remedy["sentence"] for remedy in large["remedies"]] and small["remedies"] == []
    assert all(r["needed_gb"] <= large["usable_gb"] and r["sentence"] in large["reason"] for r in large["remedies"])


def test_preflight_has_the_same_plan_of_grpo(script: Client, local: Cluster) -> None:
    local.config |= {"gpus": ["0"]}
    local.save()
    config = {"method": "grpo", "grpo": {}, "compute": {"gpus": 1}, "model": {"path": "qwen"}}
    checked = script.post("/api/v1/preflight", {"config": config}, content_type="application/json").json()

    assert checked["memory"] == post(script, config=config).json() and checked["verdict"] == "problem"


def test_gpu_memory_refuses_what_a_launch_refuses(script: Client) -> None:
    assert "must be above 0" in paths(post(script, config={"method": "es", "es": {"sigma": -1}}))["es.sigma"]
    answer = post(script, config={"method": "es", **CONFIG, "model": {"path": "/etc/passwd"}})
    assert answer.status_code == 422 and "must be tiny or micro" in paths(answer)["model.path"]
    assert "must be one of" in paths(post(script, preset="nosuch"))["preset"]
    assert post(script, config={"method": "es", "es": {}}, more=1).status_code == 422
    assert post(script, config={"note": "\x00"}).status_code == 422


def test_gpu_memory_needs_scope_launch(script: Client, ada: User) -> None:
    assert post(calls(ada, "read"), preset="es-micro").status_code == 403
    assert post(Client(), preset="es-micro").status_code == 401


def test_gpu_memory_is_described_in_openapi() -> None:
    schema = api.get_openapi_schema()
    operation = schema["paths"]["/api/v1/gpu-memory"]["post"]
    reply = operation["responses"][200]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]

    assert operation["summary"] == "Plan the GPU memory of a run"
    assert set(schema["components"]["schemas"][reply]["required"]) >= {"cards", "reason", "prompt_tokens"}
