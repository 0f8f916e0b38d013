"""ES trains each family of models through the command, and refuses to train with a decoder that computes otherwise."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel

from tests.workers.engines.es.runs import records_of, run
from tests.workers.models.shapes import Make, gemma2, gemma3, mistral, qwen3
from tests.workers.training_process import metrics, run_json, train_here
from workers.config import ConfigError
from workers.engines.es import startup
from workers.models import Loaded, save
from workers.models.decoder import forward
from workers.models.native import load_native
from workers.models.save import weights_sha256
from workers.records import Alert


@pytest.mark.parametrize(
    ("make", "model_type"),
    [(qwen3, "qwen3"), (mistral, "mistral"), (gemma2, "gemma2"), (gemma3, "gemma3_text")],
    ids=["qwen3", "mistral", "gemma2", "gemma3"],
)
def test_command_trains_an_architecture_and_saves_its_type(
    micro: Loaded, tmp_path: Path, make: Make, model_type: str
) -> None:
    base, out = tmp_path / "base", tmp_path / "out"
    save(make(micro.tokenizer), micro.tokenizer, base)
    es = {"iterations": 2, "population": 4, "prompts": 2, "max_new_tokens": 6, "noise": "low_rank"}
    code, printed = train_here(
        run_json(tmp_path, "es-micro", es=es, model={"path": str(base)}, evaluation={"every": 0}), out
    )
    assert code == 0
    assert "largest difference of the decoder's logits from transformers'" in printed
    assert [metric.step for metric in metrics(out, "train/reward/mean")] == [1, 2]
    (last,) = (file.parent for file in out.rglob("config.json") if "2" in file.parent.name)
    assert json.loads((last / "config.json").read_text())["model_type"] == model_type
    assert weights_sha256(last) != weights_sha256(base)
    model = load_native(last, next(micro.model.parameters()).dtype)
    assert model is not None
    assert model.config.model_type == model_type


def test_run_is_refused_if_the_decoder_differs_from_transformers(
    micro: Loaded, micro_of_transformers: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ESWEB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(forward.ACTIVATIONS, "silu", functional.relu)
    with pytest.raises(ConfigError, match=r"es\.backend: .* differ .* by up to [\d.]+, .* Set it to transformers"):
        run(micro, tmp_path / "run")
    run(micro_of_transformers, tmp_path / "other", iterations=1, backend="transformers")


def test_run_checks_the_captured_steps_if_they_answer(
    micro: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ESWEB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(startup, "uses_captured_steps", lambda loaded, es: True)
    # In place of the GPU's module, which needs Triton: all its logits are zero.
    zeros = SimpleNamespace(last_logits=lambda small: lambda prompts: torch.zeros(len(prompts), 512))
    monkeypatch.setitem(sys.modules, "workers.models.decoder.gpu", zeros)
    with pytest.raises(ConfigError, match=r"es\.backend: .* of their spread"):
        run(micro, tmp_path / "run")


def test_run_warns_of_unknown_architecture(micro_of_transformers: Loaded, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=1, n_head=2, vocab_size=512)).eval().requires_grad_(False)
    run(replace(micro_of_transformers, model=model), tmp_path, iterations=1)
    (message,) = (alert.message for alert in records_of(tmp_path, Alert) if "native decoder" in alert.message)
    assert "model type gpt2 is not one of qwen2, qwen3, llama, mistral, gemma2, gemma3_text" in message
    assert "1.5 to 9 times as long" in message
