"""The API lists what presets need, adapts them to clusters, and accepts their former names."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from runs.models import Experiment, Run
from tests.runs.api_client import calls, paths
from tests.runs.clusters.stored_inventories import make_cluster
from workers.config import RunConfig
from workers.executors.base import NodeShape

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
ADDRESS = "/api/v1/presets/grpo-countdown-paper/adapt"


@pytest.fixture
def script(ada: User) -> Client:
    return calls(ada)


def test_presets_are_listed_with_needs_and_notes(script: Client) -> None:
    rows = {row["name"]: row for row in script.get("/api/v1/presets").json()}
    needs = rows["es-safety-paper"]["needs"]
    assert (needs["gpus"], needs["gpu_memory_gb"], needs["nodes"], needs["hours"]) == (4, 80, 1, None)
    assert needs["services"][0]["name"] == "beaver"
    assert rows["es-conciseness-paper"]["needs"]["hours"] == [1.8, 4.3]
    assert rows["grpo-countdown-paper"]["notes"]
    assert rows["es-tiny"]["needs"]["gpus"] == 0 and rows["es-tiny"]["needs"]["files"] == []


def test_adaptation_returns_a_valid_config_with_its_changes(script: Client) -> None:
    make_cluster("small", "ray", NodeShape(1, 32, 0, 1, "h100"))
    body = {"config": {"compute": {"cluster": "small"}}}
    adapted = script.post(ADDRESS, body, content_type="application/json").json()
    config = RunConfig.from_json(adapted["config"])
    assert config.grpo is not None and (config.compute.gpus, config.grpo.gradient_accumulation_steps) == (1, 60)
    assert adapted["changes"][0]["path"] == "compute.gpus"
    assert all(change["why"].endswith(".") for change in adapted["changes"])


def test_cluster_without_gpus_is_refused(script: Client) -> None:
    make_cluster("cpus", "ray", NodeShape(1, 32))
    body = {"config": {"compute": {"cluster": "cpus"}}}
    refused = script.post(ADDRESS, body, content_type="application/json")
    assert refused.status_code == 422
    assert "cluster cpus has none for this run." in paths(refused)["compute.gpus"]


def test_unknown_preset_is_refused_with_the_known_ones(script: Client) -> None:
    refused = script.post("/api/v1/presets/nosuch/adapt", {}, content_type="application/json")
    assert refused.status_code == 422 and "es-conciseness-paper" in paths(refused)["preset"]


def test_run_of_a_former_name_has_the_current_one(script: Client, experiment: Experiment) -> None:
    local = {
        "model": {"path": "micro", "dtype": "auto"}, "compute": {"gpus": 0, "cores": 1},
        "task": {"options": {"train_file": "", "eval_file": ""}},
    }  # fmt: skip
    body = {"experiment": experiment.pk, "preset": "es-paper", "config": local}
    launched = script.post("/api/v1/runs", body, content_type="application/json").json()
    assert launched["preset"] == "es-conciseness-paper"
    assert Run.objects.get().name.startswith("es-conciseness-paper ")


def test_stored_run_of_a_former_name_stays_readable(script: Client, experiment: Experiment) -> None:
    body = {"experiment": experiment.pk, "preset": "es-micro"}
    uid = script.post("/api/v1/runs", body, content_type="application/json").json()["uid"]
    Run.objects.update(preset="es-paper")
    assert script.get(f"/api/v1/runs/{uid}").json()["preset"] == "es-paper"
    assert [run["uid"] for run in script.get("/api/v1/runs", {"preset": "es-paper"}).json()["items"]] == [uid]
    cloned = script.post(f"/api/v1/runs/{uid}/clone", {"seed": 1}, content_type="application/json")
    assert cloned.status_code == 201 and cloned.json()["config"]["model"]["path"] == "micro"
