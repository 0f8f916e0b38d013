"""The launch form shows the GPU memory of its runs while it is filled in."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.models import Cluster, Experiment
from tests.cases import each_case
from tests.runs.launching.test_launch_page import sent
from tests.runs.model_files import QWEN2_7B, write_model_config
from tests.workers.memory_plan.sizes import QWEN2_TINY

pytestmark = pytest.mark.django_db
Check = Callable[..., str]
ON_GPU = {
    "compute.gpus": "1", "model.path": "qwen", "es.noise": "full", "es.population": "30", "es.prompts": "200",
    "es.max_new_tokens": "1024",
}  # fmt: skip


@pytest.fixture
def check(ada_client: Client, experiment: Experiment, local: Cluster, tmp_path: Path) -> Check:
    """Return a function that sends the form and returns the panel that comes back, or an empty text."""
    write_model_config(tmp_path / "qwen", QWEN2_7B)
    write_model_config(tmp_path / "small", QWEN2_7B | {"num_hidden_layers": 4})
    local.config = {"data_paths": [str(tmp_path)], "gpus": ["0"]}
    local.save()

    def post(**typed: Any) -> str:
        answer = ada_client.post(reverse("launch-check", args=[experiment.pk]), sent(**typed))
        assert answer.status_code == 200
        [panel] = re.findall(
            r'<div hx-swap-oob="innerHTML:#preflight">(.*?)</div>\s*<field', answer.content.decode(), re.S
        )
        _, _, memory = panel.partition('<div id="gpu-memory">')
        return " ".join(memory.partition("</div>\n</section>")[0].split())

    return post


def cells(panel: str) -> dict[str, list[str]]:
    """Return head -> cells of the rows of all tables, as text."""
    rows = re.findall(r'<tr> ?<th scope="row">(.*?)</th>(.*?)</tr>', panel)
    return {
        head: [re.sub("<[^>]*>", "", cell).strip() for cell in re.findall(r"<td.*?>(.*?)</td>", row)]
        for head, row in rows
    }


def test_panel_has_a_row_for_each_card(check: Check) -> None:
    rows = cells(check(**ON_GPU))

    assert [rows[f"{gb} GB"][0] for gb in (24, 40, 80, 141)] == ["✗no", "✗no", "✓yes", "✓yes"]
    assert rows["24 GB"][3:] == ["–", "–"]
    assert rows["141 GB"][1] == "118.5 GB" and rows["141 GB"][4] == "400 (2 × 200)"


def test_panel_states_the_share_that_auto_takes(check: Check) -> None:
    auto = ON_GPU | {"compute.gpus": "auto"}
    panel = check(**auto | {"model.path": "small", "es.prompts": "20", "es.max_new_tokens": "64"})
    rows = cells(panel)

    assert "With auto, the run takes the share of a GPU that its plan needs." in panel
    assert rows["24 GB"][3] == "whole" and 0.1 < float(rows["141 GB"][3]) <= 0.5
    assert cells(check(**auto))["24 GB"][3] == "–"


def test_panel_plans_a_fraction_for_its_part_of_the_memory(check: Check) -> None:
    panel = check(**ON_GPU | {"compute.gpus": "0.25", "model.path": "small"})
    rows = cells(panel)

    assert "The run has 0.25 of its GPU, and is planned for that part of its memory." in panel
    assert "raise compute.gpus, or set it to auto or 1" in panel
    assert rows["24 GB"][0] == "✗no" and rows["141 GB"][0] == "✓yes" and float(rows["141 GB"][2].split()[0]) < 36


def test_panel_has_a_row_for_each_part(check: Check) -> None:
    rows = cells(check(**ON_GPU))

    assert rows["Master weights, float32"] == ["30.5"] * 4
    assert rows["Further copies of the weights"] == ["0", "0", "0", "15.2"]
    assert "Noise of the members" not in rows


def test_panel_shows_small_parts_as_small(check: Check, tmp_path: Path) -> None:
    write_model_config(tmp_path / "little", QWEN2_TINY)

    assert cells(check(**ON_GPU | {"model.path": "little"}))["Master weights, float32"] == ["&lt; 0.1"] * 4


def test_panel_states_its_assumptions(check: Check) -> None:
    assert "with prompts of up to 512 tokens" in check(**ON_GPU)
    assert "up to 2048 prompts in an iteration are assumed" not in check(**ON_GPU)
    assert "up to 2048 prompts in an iteration are assumed" in check(**ON_GPU | {"es.prompts": "0"})


def test_panel_gives_the_reason_when_config_json_cannot_be_read(check: Check) -> None:
    panel = check(**ON_GPU | {"model.path": "elsewhere"})

    assert "has no config.json of elsewhere" in panel and "<table" not in panel


def test_panel_gives_the_reason_when_transformers_answers(check: Check) -> None:
    panel = check(**ON_GPU | {"es.backend": "transformers"})

    assert "With es.backend transformers" in panel and "<table" not in panel


@each_case(
    "typed", [{"compute.gpus": "0"}, {"model.device": "cpu"}, {"es.sigma": "many"}], ids=["no-gpus", "cpu", "wrong"]
)
def test_panel_is_absent_without_a_gpu_or_with_a_problem(check: Check, typed: dict[str, str]) -> None:
    assert check(**ON_GPU | typed) == ""


def test_panel_plans_the_engines_of_vllm(check: Check) -> None:
    rows = cells(check(**ON_GPU | {"es.backend": "vllm"}))

    assert [rows[f"{gb} GB"][0] for gb in (24, 40, 80, 141)] == ["✓yes"] * 4
    assert rows["40 GB"][5:] == ["main memory", "no"] and rows["141 GB"][5:] == ["GPU", "yes"]
    assert "Master weights, float32" not in rows


def test_panel_shows_phases_and_parts_of_grpo(check: Check, local: Cluster) -> None:
    local.config |= {"gpus": ["0", "1"]}
    local.save()
    panel = check(preset="grpo-micro", **{"compute.gpus": "2", "model.path": "qwen"})
    rows = cells(panel)

    assert [rows[f"{gb} GB"][0] for gb in (24, 40, 80, 141)] == ["✗no"] * 4
    assert rows["Gradients"] == ["30.5"] * 4 and rows["Optimizer"] == ["60.9"] * 4
    assert len(rows["Update"]) == 4 and float(rows["Update"][3]) > 122
    assert "Each of 2 processes has a GPU (nodes: 1)" in panel and "plans again" not in panel


def test_panel_names_changes_with_which_grpo_fits(check: Check) -> None:
    panel = check(preset="grpo-micro", **{"compute.gpus": "1", "model.path": "qwen"})

    assert re.search(r"GPU of 141 GB: the run needs [\d.]+ GB, and 128\.9 GB can be used\. It fits with", panel)
    assert "GPUs with grpo.sharding fsdp, and use grpo.gradient_checkpointing (" in panel
    assert "train a LoRA adapter of rank 8" in panel
    assert "GPU of 24 GB" in panel and "No change of its settings makes it fit" in panel


def test_panel_names_no_changes_where_grpo_fits(check: Check, tmp_path: Path) -> None:
    write_model_config(tmp_path / "little", QWEN2_TINY)
    panel = check(preset="grpo-micro", **{"compute.gpus": "1", "model.path": "little"})

    assert [cells(panel)[f"{gb} GB"][0] for gb in (24, 40, 80, 141)] == ["✓yes"] * 4
    assert "can be used" not in panel and "It fits with" not in panel


def test_panel_is_of_the_run_of_a_sweep_that_needs_most(check: Check) -> None:
    swept = {"sweep-key_1": "model.path", "sweep-values_1": "small, qwen", "sweep-at_once": "2"}
    panel = check(**ON_GPU | {"model.path": "small"} | swept)

    assert "For the run that needs the most memory." in panel
    assert cells(panel)["Master weights, float32"] == ["30.5"] * 4


def test_panel_of_a_sweep_reads_the_model_once(check: Check) -> None:
    def queries(values: str, gpus: str) -> int:
        swept = {"sweep-key_1": "es.sigma", "sweep-values_1": values, "sweep-at_once": "2"}
        with CaptureQueriesContext(connection) as captured:
            check(**ON_GPU | swept | {"compute.gpus": gpus})
        return len(captured)

    few, many = "0.1, 0.2", "0.1, 0.2, 0.3, 0.4, 0.5, 0.6"
    assert queries(many, "1") - queries(many, "0") == queries(few, "1") - queries(few, "0") <= 3


def test_form_has_a_place_for_the_panel(ada_client: Client, experiment: Experiment, local: Cluster) -> None:
    assert '<div id="preflight"></div>' in ada_client.get(reverse("launch", args=[experiment.pk])).content.decode()
