"""The GPU memory of a run is planned before its launch, from a config.json that this machine may read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from runs.launching.gpu_memory import GpuMemory, labels, largest_plan, plan_gpu_memory
from runs.models import Cluster, Experiment
from tests.cases import each_case
from tests.runs.checkpoint_files import save
from tests.runs.full_runs import make_run
from tests.runs.model_files import QWEN2_7B, write_model_config
from workers.config import RunConfig

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Path:
    """Return the folder of this machine's caches, which are empty."""
    settings.CACHE_DIR = tmp_path / "caches"
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "caches" / "hub"))
    return tmp_path / "caches"


@pytest.fixture
def models(local: Cluster, tmp_path: Path) -> Path:
    """Return a folder that the cluster allows, with a model of 7B parameters."""
    write_model_config(tmp_path / "models" / "qwen", QWEN2_7B)
    local.config = {"data_paths": [str(tmp_path / "models")]}
    local.save()
    return tmp_path / "models"


def config_of(model: str, gpus: int = 1, dtype: str = "auto", **es: Any) -> RunConfig:
    """Return the config of a run with 200 prompts and answers of up to 1024 tokens."""
    es = {"prompts": 200, "max_new_tokens": 1024, **es}
    sections = {"model": {"path": model, "dtype": dtype}, "compute": {"gpus": gpus}}
    return RunConfig.from_json({"method": "es", "es": es, **sections})


def plan(person: User, config: RunConfig) -> GpuMemory:
    """Return the plan of one run."""
    [gpu_memory] = plan_gpu_memory([config], person)
    return gpu_memory


def test_plan_lists_the_cards_that_hold_a_7b_model(ada: User, models: Path) -> None:
    gpu_memory = plan(ada, config_of("qwen"))

    fits = [(card.card_gb, card.fits) for card in gpu_memory.cards]
    assert fits == [(24, False), (40, False), (80, True), (141, True)]
    assert (gpu_memory.reason, gpu_memory.prompts, gpu_memory.prompts_assumed, gpu_memory.prompt_tokens) == (
        "",
        200,
        False,
        512,
    )
    largest = gpu_memory.cards[3]
    assert (largest.members, largest.weight_sets, largest.responses) == (30, 2, 400)
    assert sum(largest.parts_gb.values()) == pytest.approx(largest.needed_gb)
    assert largest.needed_gb == pytest.approx(118.9, abs=0.1) and largest.usable_gb == pytest.approx(128.9, abs=0.1)


def test_plan_gives_the_smallest_need_of_a_card_that_is_too_small(ada: User, models: Path) -> None:
    smallest = plan(ada, config_of("qwen")).cards[0]

    assert smallest.reason.startswith("GPU memory planned: 68.9 of 24 GB")
    assert smallest.needed_gb > smallest.usable_gb


def test_plan_divides_the_population_among_gpus(ada: User, models: Path) -> None:
    assert plan(ada, config_of("qwen", gpus=8, noise="low_rank")).cards[3].members == 4
    assert plan(ada, config_of("qwen", gpus=8, noise="low_rank", engines=2)).cards[3].members == 15


def test_plan_divides_a_card_among_its_engines(ada: User, models: Path) -> None:
    write_model_config(models / "small", QWEN2_7B | {"num_hidden_layers": 4})
    one_engine, two_engines = (plan(ada, config_of("small", engines=engines)).cards[3] for engines in (1, 2))

    assert (one_engine.engines, two_engines.engines) == (1, 2)
    assert two_engines.card == 141 * 10**9 and two_engines.members == 15
    assert two_engines.parts_gb["master"] == 2 * one_engine.parts_gb["master"]
    assert two_engines.needed_gb <= two_engines.usable_gb < one_engine.usable_gb


def test_plan_counts_numbers_of_float32_twice(ada: User, models: Path) -> None:
    half, whole = (plan(ada, config_of("qwen", dtype=dtype)).cards[3].parts for dtype in ("auto", "float32"))

    assert (whole["working"], whole["master"]) == (2 * half["working"], half["master"])


def test_plan_assumes_prompts_when_the_config_asks_for_all(ada: User, models: Path) -> None:
    gpu_memory = plan(ada, config_of("qwen", prompts=0))

    assert (gpu_memory.prompts, gpu_memory.prompts_assumed) == (2048, True)


@each_case(
    ("config", "reason"),
    [
        ({"method": "evaluate", "compute": {"gpus": 1}}, "for runs that train only"),
        ({"method": "es", "es": {}}, "uses no GPU"),
        ({"method": "es", "es": {}, "compute": {"gpus": 1}, "model": {"device": "cpu"}}, "uses no GPU"),
    ],
    ids=["evaluate", "no-gpus", "cpu"],
)
def test_plan_is_for_training_on_gpus_only(ada: User, local: Cluster, config: dict[str, Any], reason: str) -> None:
    gpu_memory = plan(ada, RunConfig.from_json(config))

    assert (gpu_memory.on_gpus, gpu_memory.cards) == (False, ())
    assert reason in gpu_memory.reason


def test_plan_reports_transformers_as_unplanned(ada: User, models: Path) -> None:
    gpu_memory = plan(ada, config_of("qwen", backend="transformers"))

    assert gpu_memory.on_gpus and not gpu_memory.cards and "es.backend transformers" in gpu_memory.reason


def test_plan_reads_the_models_that_the_project_made(ada: User, local: Cluster, caches: Path) -> None:
    assert plan(ada, config_of("tiny")).reason == "tiny is created by its first run and has no config.json yet."

    write_model_config(caches / "models" / "tiny-0123-0", QWEN2_7B | {"hidden_size": 128, "num_attention_heads": 4})
    assert all(card.fits for card in plan(ada, config_of("tiny")).cards)


def test_plan_reads_a_model_of_the_hub_that_is_in_the_cache(ada: User, local: Cluster, caches: Path) -> None:
    folder = caches / "hub" / "models--Qwen--Qwen2.5-7B"
    blob = write_model_config(folder / "blobs", QWEN2_7B)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("a" * 40)
    (folder / "snapshots" / ("a" * 40)).mkdir(parents=True)
    (folder / "snapshots" / ("a" * 40) / "config.json").symlink_to(blob)

    assert plan(ada, config_of("Qwen/Qwen2.5-7B")).cards[3].fits
    assert "has no config.json of Qwen/Qwen2.5-32B" in plan(ada, config_of("Qwen/Qwen2.5-32B")).reason


def test_plan_reads_the_checkpoint_of_a_run(ada: User, experiment: Experiment, local: Cluster, runs_dir: Path) -> None:
    run = make_run(experiment)
    write_model_config(save(run, 5), QWEN2_7B | {"padding": "." * 100})

    assert plan(ada, config_of(f"run:{run.uid}@5")).cards[3].fits


def test_plan_reads_no_checkpoint_of_a_hidden_run(
    bo: User, private_experiment: Experiment, local: Cluster, runs_dir: Path
) -> None:
    run = make_run(private_experiment)
    write_model_config(save(run, 5), QWEN2_7B | {"padding": "." * 100})
    gpu_memory = plan(bo, config_of(f"run:{run.uid}@5"))

    assert not gpu_memory.cards and "you see no such run" in gpu_memory.reason


def test_plan_reads_no_link_that_leads_out_of_the_folder(ada: User, models: Path, tmp_path: Path) -> None:
    secret = write_model_config(tmp_path / "outside", QWEN2_7B)
    (models / "linked").mkdir()
    (models / "linked" / "config.json").symlink_to(secret)
    gpu_memory = plan(ada, config_of("linked"))

    assert not gpu_memory.cards and "is a link to a path outside the allowed folders" in gpu_memory.reason


def test_plan_reads_no_link_of_a_checkpoint(
    ada: User, experiment: Experiment, local: Cluster, runs_dir: Path, tmp_path: Path
) -> None:
    run = make_run(experiment)
    folder = save(run, 5)
    (folder / "config.json").unlink()
    (folder / "config.json").symlink_to(write_model_config(tmp_path / "outside", QWEN2_7B))

    assert "it is a link to a file outside its folder" in plan(ada, config_of(f"run:{run.uid}@5")).reason


@each_case("name", ["/etc/passwd", "../outside", "qwen/../../outside"])
def test_plan_reads_no_path(ada: User, models: Path, tmp_path: Path, name: str) -> None:
    write_model_config(tmp_path / "outside", QWEN2_7B)
    gpu_memory = plan(ada, config_of(name))

    assert not gpu_memory.cards and "must be tiny or micro" in gpu_memory.reason


def test_plan_reads_no_disk_of_a_remote_cluster(ada: User, models: Path, local: Cluster) -> None:
    local.config |= {"address": "login.example.org"}
    local.save()
    gpu_memory = plan(ada, config_of("qwen"))

    assert gpu_memory.reason == (
        "This machine has no config.json of qwen: it is only on the disk of local, or not downloaded yet."
    )


@each_case(
    ("text", "reason"),
    [
        ("{", "it is not a JSON object"),
        ("[]", "it is not a JSON object"),
        ("[" * 100_000, "it is not a JSON object"),
        ("\ud800".encode("utf-16", "surrogatepass").decode("latin-1"), "it is not a JSON object"),
        (json.dumps({"padding": "." * 1_000_000}), "it is larger than 1000000 bytes"),
        ("{}", "does not state hidden_size"),
        (json.dumps(QWEN2_7B | {"hidden_size": "large"}), "states invalid sizes"),
        (json.dumps(QWEN2_7B | {"num_attention_heads": 0}), "states invalid sizes"),
        (json.dumps(QWEN2_7B | {"vocab_size": 10**400}), "states invalid sizes"),
        (json.dumps(QWEN2_7B | {"vocab_size": [1]}), "states invalid sizes"),
        (json.dumps(QWEN2_7B | {"vocab_size": float("inf")}), "states invalid sizes"),
    ],
    ids=["torn", "list", "deep", "bytes", "large", "empty", "text", "zero", "huge", "nested", "infinite"],
)
def test_plan_reports_a_broken_file(ada: User, models: Path, text: str, reason: str) -> None:
    write_model_config(models / "broken", text)
    gpu_memory = plan(ada, config_of("broken"))

    assert not gpu_memory.cards and reason in gpu_memory.reason


def test_plan_waits_for_no_pipe(ada: User, models: Path) -> None:
    (models / "pipe").mkdir()
    os.mkfifo(models / "pipe" / "config.json")

    assert "has no config.json of pipe" in plan(ada, config_of("pipe")).reason


def test_largest_plan_is_the_one_that_fits_the_fewest_cards(ada: User, models: Path) -> None:
    write_model_config(models / "small", QWEN2_7B | {"num_hidden_layers": 4})
    plans = plan_gpu_memory([config_of("small"), config_of("qwen"), config_of("small", max_new_tokens=8)], ada)

    assert largest_plan(plans) is plans[1]
    assert largest_plan([plans[2], plans[0]]) is plans[0]
    assert largest_plan([]) is None


def grpo_config(model: str, gpus: int = 1, nodes: int = 1, **settings: Any) -> RunConfig:
    """Return the config of a run of method grpo."""
    sections = {"model": {"path": model}, "compute": {"gpus": gpus, "nodes": nodes}}
    return RunConfig.from_json({"method": "grpo", "grpo": settings, **sections})


def test_plan_of_grpo_has_phases_parts_and_remedies(ada: User, models: Path) -> None:
    gpu_memory = plan(ada, grpo_config("qwen"))

    assert gpu_memory.on_gpus and gpu_memory.reason == "" and gpu_memory.planner == "grpo"
    assert [card.card_gb for card in gpu_memory.cards] == [24, 40, 80, 141]
    assert gpu_memory.fitting == []
    assert gpu_memory.prompts == 1 and not gpu_memory.prompts_assumed
    assert [words for words, _ in gpu_memory.phases] == ["Generation", "Update", "Evaluation", "Checkpoint"]
    assert dict(gpu_memory.parts)["Optimizer"] == pytest.approx([60.9] * 4, abs=0.1)
    assert "Shards gathered for an update" not in dict(gpu_memory.parts)
    smallest, *_, largest = gpu_memory.remedies
    assert (smallest[0].card_gb, smallest[1], largest[0].card_gb) == (24, [], 141)
    assert any("grpo.sharding fsdp" in sentence for sentence in largest[1])


def test_plan_of_grpo_counts_the_processes_of_all_nodes(ada: User, models: Path) -> None:
    gpu_memory = plan(ada, grpo_config("qwen", gpus=4, nodes=2, sharding="fsdp"))

    assert (gpu_memory.processes, gpu_memory.nodes) == (8, 2)
    assert gpu_memory.cards[3].fits and gpu_memory.fitting[-1] == 141
    assert "Shards gathered for an update" in dict(gpu_memory.parts)


def test_plan_has_a_label_for_everything(ada: User, models: Path) -> None:
    native, card = plan(ada, config_of("qwen")).cards[0], plan(ada, grpo_config("qwen")).cards[0]

    assert labels.PARTS["native"].keys() == native.parts.keys() and labels.PARTS["grpo"].keys() == card.parts.keys()
    assert labels.PHASES.keys() == card.phases.keys()


def test_reason_of_grpo_names_the_remedies(ada: User, models: Path) -> None:
    small, _, _, large = plan(ada, grpo_config("qwen")).cards

    assert labels.describe_reason(small).endswith("use a smaller model or a larger GPU.")
    assert f"The run needs {large.needed_gb:.1f} GB; this card has 141 GB" in labels.describe_reason(large)
    assert all(labels.describe_remedy(remedy) in labels.describe_reason(large) for remedy in large.remedies)


def test_largest_plan_compares_grpo_runs(ada: User, models: Path) -> None:
    plans = plan_gpu_memory([grpo_config("qwen", lora={}), grpo_config("qwen")], ada)

    assert largest_plan(plans) is plans[1]
