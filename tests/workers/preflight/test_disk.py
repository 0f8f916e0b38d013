"""The planned bytes of checkpoints are those that real short runs leave."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.workers.training_process import train_here
from workers.config import RunConfig
from workers.preflight import ModelFiles, find_cached_model, plan_disk, read_model_files
from workers.preflight.disk import adapter_shapes, count_checkpoints
from workers.preflight.model_files import shapes_of_config

# Warnings about how TRL uses transformers, because the training runs in the tests' own process.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")

ES: dict[str, Any] = {
    "method": "es", "model": {"path": "micro"},
    "es": {"iterations": 3, "population": 2, "prompts": 2, "max_new_tokens": 4, "checkpoint_every": 2},
    "evaluation": {"prompts": 2, "samples": 1, "every": 0},
    "tracking": {"system_seconds": 0},
}  # fmt: skip
GRPO: dict[str, Any] = {
    "method": "grpo", "model": {"path": "micro"},
    "grpo": {"max_steps": 3, "save_steps": 2, "max_completion_length": 4, "num_generations": 2,
             "per_device_train_batch_size": 2},
    "evaluation": {"prompts": 2, "samples": 1, "every": 0},
    "tracking": {"system_seconds": 0},
}  # fmt: skip


def read_micro() -> ModelFiles:
    """Return the files of the micro model, which its fixture has made."""
    folder = find_cached_model("micro")
    assert folder is not None
    model = read_model_files(folder)
    assert model is not None and model.has_weights
    return model


def changed(base: dict[str, Any], section: str, **values: Any) -> dict[str, Any]:
    """Return the config with other values in a section."""
    data = copy.deepcopy(base)
    data[section].update(values)
    return data


@pytest.mark.parametrize(
    "data",
    [
        ES,
        changed(ES, "model", dtype="bfloat16"),
        changed(changed(ES, "model", dtype="bfloat16"), "es", keep="all"),
        changed(ES, "es", lora={"rank": 8, "layers": "1"}),
        changed(GRPO, "model", dtype="bfloat16"),
        changed(GRPO, "grpo", lora={"rank": 4}),
        changed(GRPO, "grpo", keep="all"),
    ],
    ids=["es-float32", "es-bfloat16", "es-all", "es-lora", "grpo-bfloat16", "grpo-lora", "grpo-all"],
)
def test_planned_checkpoints_are_those_of_a_run(micro: Any, tmp_path: Path, data: dict[str, Any]) -> None:
    """`micro` makes the model, whose files are read before the run."""
    config, model = RunConfig.from_json(data), read_micro()
    plan = plan_disk(config, model)
    (tmp_path / "run.json").write_text(json.dumps(data))

    assert train_here(tmp_path / "run.json", tmp_path / "out")[0] == 0

    saved = [size_of(step) for step in sorted((tmp_path / "out" / "checkpoints").iterdir())]
    assert plan is not None and plan.checkpoints == 2
    assert len(saved) == (1 if plan.earlier is None else 2)
    assert plan.last.total == pytest.approx(saved[-1], rel=0.02)
    assert plan.left == pytest.approx(sum(saved), rel=0.02)
    is_all = "all" in (config.es and config.es.keep, config.grpo and config.grpo.keep)
    assert plan.total == (plan.left if is_all else plan.checkpoint.total + plan.last.total)


def size_of(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize(("iterations", "every", "count"), [(10, 0, 1), (10, 5, 2), (10, 4, 3), (10, 20, 1)], ids=str)
def test_checkpoints_are_counted_with_the_last(iterations: int, every: int, count: int) -> None:
    config = RunConfig.from_json({"method": "es", "es": {"iterations": iterations, "checkpoint_every": every}})

    assert count_checkpoints(config) == count


def test_evaluation_leaves_no_checkpoints(micro: Any) -> None:
    assert plan_disk(RunConfig.from_json({"method": "evaluate"}), read_micro()) is None


def test_shapes_without_weights_are_nearly_those_of_the_weights(micro: Any) -> None:
    model = read_micro()
    by_config = shapes_of_config(model.config)

    # config.json does not tell whether the projections have biases.
    missing = {name for name in model.shapes.keys() - by_config.keys() if not name.endswith(".bias")}
    assert not missing and all(model.shapes[name] == shape for name, shape in by_config.items())


def test_adapter_is_that_of_the_named_layers(micro: Any) -> None:
    model = read_micro()
    es = RunConfig.from_json({"method": "es", "es": {"lora": {"rank": 2, "layers": "1", "targets": ["q_proj"]}}}).es
    assert es is not None and es.lora is not None

    assert adapter_shapes(model.shapes, es.lora) == {
        "base_model.model.model.layers.1.self_attn.q_proj.lora_A.weight": (2, 32),
        "base_model.model.model.layers.1.self_attn.q_proj.lora_B.weight": (32, 2),
    }
