"""Published presets pass the pre-flight check for their hardware, except for what this machine lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workers.config import RunConfig, preset, presets
from workers.preflight import make_report

QWEN = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "num_hidden_layers": 28}
SIZES: dict[str, dict[str, Any]] = {
    "Qwen/Qwen2.5-7B-Instruct": QWEN
    | {"hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28, "num_key_value_heads": 4,
       "vocab_size": 152064, "tie_word_embeddings": False},
    "Qwen/Qwen2.5-1.5B-Instruct": QWEN
    | {"hidden_size": 1536, "intermediate_size": 8960, "num_attention_heads": 12, "num_key_value_heads": 2,
       "vocab_size": 151936, "tie_word_embeddings": True},
    "PKU-Alignment/alpaca-7b-reproduced": {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 32, "hidden_size": 4096,
        "intermediate_size": 11008, "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 32001,
        "tie_word_embeddings": False,
    },
    "HuggingFaceTB/SmolLM2-135M-Instruct": {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 30, "hidden_size": 576,
        "intermediate_size": 1536, "num_attention_heads": 9, "num_key_value_heads": 3, "vocab_size": 49152,
        "tie_word_embeddings": True,
    },
}  # fmt: skip
"""Settings of the models as the hub has them, without their weights."""
MISSING_HERE = {"Data", "Scorer", "Triton", "TRL", "Training packages", "DeepSpeed"}
"""Needs that depend on this machine: files, services and packages."""


def cache_settings(home: Path, model: str) -> None:
    """Write the model's config.json as the hub's cache stores it."""
    root, commit = home / "hub" / f"models--{model.replace('/', '--')}", "a" * 40
    (root / "refs").mkdir(parents=True)
    (root / "refs" / "main").write_text(commit)
    (root / "snapshots" / commit).mkdir(parents=True)
    (root / "snapshots" / commit / "config.json").write_text(json.dumps(SIZES[model]))


@pytest.mark.parametrize("name", [name for name, known in presets().items() if known.needs.gpus])
def test_published_preset_fits_its_hardware(name: str, tmp_path: Path) -> None:
    needs, config = preset(name).needs, RunConfig.from_json(preset(name).config)
    cache_settings(tmp_path, config.model.path)
    report = make_report(
        config, cards=[needs.gpu_memory_gb], gpus=needs.gpus, environment={"HF_HOME": str(tmp_path)}
    )  # fmt: skip

    assert [(card.card_gb, card.reason) for card in report.cards] == [(needs.gpu_memory_gb, "")]
    missing = {need.name for need in report.needs if need.state == "missing"}
    assert "Data" in missing and missing <= MISSING_HERE
    assert all(problem.split(":")[0] in MISSING_HERE for problem in report.problems)


@pytest.mark.parametrize("name", ["es-smollm2", "grpo-smollm2"])
def test_preset_of_a_small_real_model_fits_one_usual_card(name: str, tmp_path: Path) -> None:
    config = RunConfig.from_json({**preset(name).config, "compute": {"gpus": 1}})
    cache_settings(tmp_path, config.model.path)
    report = make_report(config, cards=[24], gpus=1, environment={"HF_HOME": str(tmp_path)})
    assert [(card.card_gb, card.reason) for card in report.cards] == [(24, "")]
