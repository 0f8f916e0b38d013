"""A loaded model is ready to answer: on its device, in its precision, without gradients, padded on the left."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from tests.workers.models.shapes import generated
from workers.config import ConfigError, ModelConfig
from workers.models import Loaded, chat_text, load, save
from workers.tasks import make


def test_auto_on_a_cpu_is_float32(micro: Loaded) -> None:
    assert (micro.device, micro.dtype) == (torch.device("cpu"), torch.float32)
    assert {p.dtype for p in micro.model.parameters()} == {torch.float32}
    assert 30_000 < sum(p.numel() for p in micro.model.parameters()) < 34_000


def test_loaded_model_is_in_eval_mode_without_gradients(micro: Loaded) -> None:
    assert not micro.model.training
    assert not any(p.requires_grad for p in micro.model.parameters())


def test_model_on_a_cpu_counts_no_gpu(micro: Loaded) -> None:
    assert micro.gpus == 0


def test_configured_precision_is_used() -> None:
    loaded = load(ModelConfig(path="micro", dtype="bfloat16", device="cpu"))
    assert {p.dtype for p in loaded.model.parameters()} == {torch.bfloat16} == {loaded.dtype}


def test_loaded_model_names_its_folder(micro_of_transformers: Loaded) -> None:
    model = micro_of_transformers.model
    again: Any = AutoModelForCausalLM.from_pretrained(model.name_or_path)
    assert Path(model.name_or_path) == micro_of_transformers.path
    assert torch.equal(again.get_input_embeddings().weight, model.get_input_embeddings().weight)


def test_a_tokenizer_without_padding_pads_with_its_end(micro: Loaded, tmp_path: Path) -> None:
    tokenizer = type(micro.tokenizer).from_pretrained(micro.path)
    tokenizer.pad_token = None
    save(micro.model, tokenizer, tmp_path / "m")
    loaded = load(ModelConfig(path=str(tmp_path / "m"), device="cpu"))
    assert loaded.tokenizer.pad_token == loaded.tokenizer.eos_token
    assert loaded.tokenizer.padding_side == "left"


def test_pickled_weights_are_refused(micro: Loaded, tmp_path: Path) -> None:
    save(micro.model, micro.tokenizer, tmp_path / "m")
    (tmp_path / "m" / "model.safetensors").unlink()
    torch.save(micro.model.state_dict(), tmp_path / "m" / "pytorch_model.bin")
    with pytest.raises(ConfigError, match="pickles, which run code"):
        load(ModelConfig(path=str(tmp_path / "m"), device="cpu"))


def test_adapter_is_refused_and_its_base_is_not_loaded(micro: Loaded, tmp_path: Path) -> None:
    """transformers would load the folder that the adapter names as its base, which may be anybody's."""
    folder = tmp_path / "m"
    save(micro.model, micro.tokenizer, folder)
    described = {"base_model_name_or_path": str(micro.path), "peft_type": "LORA"}
    (folder / "adapter_config.json").write_text(json.dumps(described))
    with pytest.raises(ConfigError, match=r"contains an adapter \(adapter_config\.json\); merge it"):
        load(ModelConfig(path=str(folder), device="cpu"))


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "it has no config.json"),
        ({"config.json": '{"model_type": "qwe'}, "its config.json cannot be read"),
        ({"config.json": "[]"}, "its config.json has no model_type"),
        ({"config.json": '{"model_type": "qwen2"}'}, "it has no .*safetensors"),
        ({"config.json": '{"model_type": "qwen2"}', "model.safetensors": ""}, "it has no tokenizer"),
        (
            {"config.json": '{"model_type": "nosuch"}', "model.safetensors": "", "tokenizer.json": "{}"},
            "transformers does not know this model",
        ),
    ],
)
def test_folder_without_model_is_refused(tmp_path: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=f"model.path: .*{message}.*; a checkpoint folder contains config.json"):
        load(ModelConfig(path=str(tmp_path), device="cpu"))


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_missing_gpu_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model\.device: is cuda, but torch finds no GPU here; set auto or cpu"):
        load(ModelConfig(path="micro", device="cuda"))


def test_the_micro_model_rambles_and_ends(micro_of_transformers: Loaded) -> None:
    from workers.config import TaskConfig

    task = make(TaskConfig())
    examples = task.examples("eval")
    tokenizer = micro_of_transformers.tokenizer
    texts = [chat_text(tokenizer, e.messages) for e in examples]
    tokens = generated(micro_of_transformers.model, tokenizer, texts, 40)
    answers = tokenizer.batch_decode(tokens, skip_special_tokens=True)
    rewards = [task.score(e, a).reward for e, a in zip(examples, answers, strict=True)]
    assert sum(rewards) / len(rewards) < -40
    assert sum(a.endswith("I hope this helps you.") for a in answers) > 30
    assert len(set(answers)) > 5
