"""A launch that states no GPUs gets one for a large model where the cluster has one, and else none."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import Settings

from runs.launching.gpu_memory import GpuDefaults
from runs.launching.gpu_memory.default_gpus import size_text
from runs.launching.request import merged
from runs.models import Cluster, Experiment, Run, Sweep
from tests.cases import each_case
from tests.runs.api_client import calls
from tests.runs.clusters.stored_inventories import make_cluster
from tests.runs.full_runs import make_run
from tests.runs.launching.test_config_form import sent
from tests.runs.model_files import QWEN2_7B, write_model_config
from workers.config import ConfigError, RunConfig, preset
from workers.executors.base import NodeShape

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")
LARGE = {"method": "es", "es": {}, "model": {"path": "lab/some-135M-base"}}


@pytest.fixture(autouse=True)
def clusters(local: Cluster, tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give this machine a GPU, and create clusters with GPUs, without, and with a limit of none; no model is cached."""
    settings.CACHE_DIR = tmp_path / "caches"
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    write_model_config(tmp_path / "models" / "qwen", QWEN2_7B)
    write_model_config(tmp_path / "models" / "small", {**QWEN2_7B, "hidden_size": 64, "intermediate_size": 64,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 500})  # fmt: skip
    local.config = {"gpus": ["0"], "data_paths": [str(tmp_path / "models")]}
    local.save()
    make_cluster("far", "slurm", NodeShape(2, 16, 0, 4, "a100"))
    make_cluster("cpus", "slurm", NodeShape(2, 16))
    make_cluster("limited", "slurm", NodeShape(2, 16, 0, 4), config={"limits": {"gpus": 0}})
    Cluster.objects.create(name="new", kind="slurm")


def gpus_of(person: User, data: dict[str, Any], **changes: Any) -> Any:
    return GpuDefaults(person).decode(merged(data, changes)).compute.gpus


@each_case(
    ("model", "cluster", "gpus"),
    [
        ("tiny", "local", 0), ("micro", "far", 0), ("small", "local", 0), ("qwen", "local", "auto"),
        ("lab/some-135M-base", "local", "auto"), ("lab/some-135M-base", "far", 1), ("lab/opt-70m", "far", 0),
        ("Qwen/Qwen2.5-0.5B-Instruct", "far", 1), ("lab/unnamed", "far", 1), ("lab/unnamed", "cpus", 0),
        ("lab/some-135M-base", "limited", 0), ("lab/some-135M-base", "new", 0),
        ("PKU-Alignment/alpaca-7b-reproduced", "far", 1),
    ],
)  # fmt: skip
def test_default_follows_from_model_and_cluster(model: str, cluster: str, gpus: Any, ada: User) -> None:
    assert gpus_of(ada, LARGE, model={"path": model}, compute={"cluster": cluster}) == gpus


@each_case(
    ("changes", "gpus"),
    [
        ({"compute": {"gpus": 0}}, 0), ({"compute": {"gpus": 0.25}}, 0.25), ({"model": {"device": "cpu"}}, 0),
        ({"es": {"backend": "vllm"}}, 1), ({"es": {"engines": 2}}, 1), ({"es": {"backend": "transformers"}}, 1),
        ({"es": {"backend": "adapter_server", "adapter_server": {"server": "lora"}, "lora": {}}}, 0),
        ({"model": {"path": "tiny"}, "compute": {"cluster": "far", "gpu_type": "a100"}}, 1),
    ],
)  # fmt: skip
def test_default_depends_on_the_settings(changes: dict[str, Any], gpus: Any, ada: User) -> None:
    assert gpus_of(ada, LARGE, **changes) == gpus


def test_grpo_shares_a_gpu_unless_vllm_reserves_one(ada: User) -> None:
    grpo = {"method": "grpo", "grpo": {}, "model": LARGE["model"]}
    assert gpus_of(ada, grpo) == "auto"
    assert gpus_of(ada, grpo, compute={"cluster": "far"}) == gpus_of(ada, grpo, grpo={"vllm": {}}) == 1


def test_each_config_of_a_sweep_has_its_own_default(ada: User) -> None:
    defaults = GpuDefaults(ada)
    backends = ("native", "vllm", "transformers", "native")
    assert [defaults.decode(merged(LARGE, {"es": {"backend": name}})).compute.gpus for name in backends] == [
        "auto", 1, 1, "auto",
    ]  # fmt: skip


def test_scorer_takes_a_gpu_for_its_own_models(ada: User) -> None:
    scorer = {"method": "scorer", "scorer": {"name": "beaver", "reward_model": "lab/beaver-7b"}}
    assert gpus_of(ada, scorer) == 1
    assert gpus_of(ada, {"method": "scorer", "scorer": {"name": "small"}}) == 0


def test_examined_run_decides_by_its_base_model(ada: User, experiment: Experiment) -> None:
    small, large = make_run(experiment, "es-tiny"), make_run(experiment, "es-tiny")
    large.config["model"]["path"] = "lab/some-135M-base"
    large.save()
    evaluate = {"method": "evaluate", "evaluate": {"run": f"run:{small.uid}"}}
    assert gpus_of(ada, evaluate) == 0
    assert gpus_of(ada, evaluate, evaluate={"run": f"run:{large.uid}"}) == 1
    assert gpus_of(ada, LARGE, model={"path": f"run:{small.uid}@3"}) == 0


@each_case(
    "data",
    [
        {"method": "es", "es": {}, "compute": []},
        {"method": "es", "es": {}, "compute": {"gpus": None}},
        {"method": "grpo", "grpo": {"processes_per_node": 2.5}},
    ],
)
def test_invalid_config_is_refused_as_it_is(data: dict[str, Any], ada: User) -> None:
    with pytest.raises(ConfigError) as refused:
        GpuDefaults(ada).decode(data)
    with pytest.raises(ConfigError) as expected:
        RunConfig.from_json(data)
    assert refused.value.problems == expected.value.problems


def test_api_stores_the_chosen_gpus_and_names_no_run_by_them(ada: User, experiment: Experiment) -> None:
    script, body = calls(ada), {"experiment": experiment.pk, "preset": "es-smollm2"}
    assert script.post("/api/v1/runs", body, content_type="application/json").status_code == 201
    run = Run.objects.get()
    assert (run.config["compute"]["gpus"], run.name) == ("auto", "es-smollm2 seed 0")
    assert script.post("/api/v1/runs", body | {"config": {"compute": {"gpus": 0}}}, content_type="application/json")
    assert Run.objects.latest("pk").config["compute"]["gpus"] == 0


def test_further_runs_of_a_sweep_have_the_gpus_of_the_first(ada: User, experiment: Experiment) -> None:
    script = calls(ada)
    body = {"experiment": experiment.pk, "preset": "es-smollm2", "grid": {"es.sigma": [0.1]}, "seeds": [0]}
    assert script.post("/api/v1/sweeps", body, content_type="application/json").status_code == 201
    run, sweep = Run.objects.get(), Sweep.objects.get()
    assert run.config["compute"]["gpus"] == "auto" and "compute" not in sweep.base
    # As an older version stored it.
    run.config["compute"]["gpus"] = 0
    run.save()
    more = script.post(f"/api/v1/sweeps/{sweep.pk}/extend", {"seeds": [1]}, content_type="application/json")
    assert more.status_code == 200
    assert [run.config["compute"]["gpus"] for run in Run.objects.all()] == [0, 0]


def text_of(answer: Any) -> str:
    return html.unescape(" ".join(answer.content.decode().split()))


def test_form_leaves_the_gpus_open_and_says_which(ada_client: Client, experiment: Experiment) -> None:
    address = reverse("launch", args=[experiment.pk])
    assert 'name="compute.gpus" spellcheck' in text_of(ada_client.get(address, {"preset": "es-smollm2"}))
    page = text_of(ada_client.post(f"{address}check/", sent("es-smollm2")))
    assert "compute.gpus is auto: HuggingFaceTB/SmolLM2-135M-Instruct has 135 M parameters, and models from" in page
    assert "auto takes a whole GPU for now: the memory of the cluster's GPUs is not known." in page
    page = text_of(ada_client.post(f"{address}check/", sent("grpo-smollm2", **{"compute.cluster": "cpus"})))
    assert "compute.gpus is 0: cluster cpus has no GPU for this run." in page
    page = text_of(ada_client.post(f"{address}check/", sent()))
    assert "compute.gpus is 0: tiny has fewer than 100 M parameters" in page
    stated = text_of(ada_client.post(f"{address}check/", sent("es-smollm2", **{"compute.gpus": "1"})))
    assert "compute.gpus is" not in stated
    stated = text_of(ada_client.post(f"{address}check/", sent("es-smollm2", **{"compute.gpus": "0"})))
    assert "so the run trains on cores. Left empty, it would be auto: HuggingFaceTB/SmolLM2-135M-Instruct" in stated


def test_form_of_a_clone_states_the_gpus_of_the_run(ada_client: Client, experiment: Experiment) -> None:
    run = make_run(experiment, "es-tiny")
    page = text_of(ada_client.get(reverse("launch", args=[experiment.pk]), {"clone": run.uid}))
    assert 'name="compute.gpus" value="0"' in page


def test_check_of_a_sweep_states_each_reason_once(ada_client: Client, experiment: Experiment) -> None:
    typed = {"sweep-key_1": "model.path", "sweep-values_1": "tiny, lab/some-135M-base", "sweep-at_once": "2"}
    page = text_of(ada_client.post(f"{reverse('launch', args=[experiment.pk])}check/", sent(**typed)))
    assert page.count("compute.gpus is 0: tiny") == page.count("lab/some-135M-base has 135 M parameters") == 1


def test_machine_says_why_it_offers_no_gpu(ada: User, local: Cluster) -> None:
    local.config = {}
    local.save()
    reason = GpuDefaults(ada).choose(RunConfig.from_json(preset("es-smollm2").config)).reason
    assert "cluster local has no GPU for this run (this machine has no NVIDIA driver)" in reason


@each_case(("parameters", "text"), [(134_515_008, "135 M"), (7_615_616_512, "7.62 B"), (1_000_000_000, "1 B")])
def test_size_of_a_model_has_three_digits(parameters: int, text: str) -> None:
    assert size_text(parameters) == text
