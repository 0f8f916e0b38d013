"""Our own class of a model equals the one of transformers: logits to the bit, names, order, and the files it saves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel, PreTrainedModel

from tests.cases import each_case
from tests.workers.attempts import ENV
from tests.workers.models.shapes import ARCHITECTURES, Make, qwen2
from workers.config import ModelConfig
from workers.models import Loaded, load, save
from workers.models.native import NativeModel, load_native
from workers.models.save import weights_sha256

EACH = each_case("make", ARCHITECTURES.values(), ids=ARCHITECTURES.keys())
LOAD_MICRO = """
import sys
from workers.config import ModelConfig
from workers.models import load
load(ModelConfig(path="micro", device="cpu"))
from transformers import AutoConfig
AutoConfig.for_model("llama")
print([name for name in ("torch._dynamo", "scipy", "torch.distributed.tensor", "transformers.modeling_utils",
                         "transformers.activations", "accelerate") if name in sys.modules])
"""


def write_checkpoint(model: Any, tokenizer: Any, folder: Path) -> Path:
    """Save the model; return the folder."""
    save(model, tokenizer, folder)
    return folder


def load_own(folder: Path, dtype: torch.dtype = torch.float32) -> NativeModel:
    """Load the folder as our own class, which must know it."""
    model = load_native(folder, dtype)
    assert model is not None
    return model


@EACH
@each_case("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_logits_equal_those_of_transformers(micro: Loaded, tmp_path: Path, make: Make, dtype: torch.dtype) -> None:
    folder = write_checkpoint(make(micro.tokenizer), micro.tokenizer, tmp_path / "m")
    reference: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval()
    ours, ids = load_own(folder, dtype), torch.arange(3 * 25).view(3, 25) % 500

    with torch.no_grad():
        every = reference(input_ids=ids, use_cache=False).logits
        assert torch.equal(ours(input_ids=ids, use_cache=False).logits, every)
        assert torch.equal(ours(input_ids=ids, logits_to_keep=4).logits, every[:, -4:])


@EACH
def test_parameters_have_the_names_and_the_order_of_transformers(micro: Loaded, tmp_path: Path, make: Make) -> None:
    model = make(micro.tokenizer)
    ours = load_own(write_checkpoint(model, micro.tokenizer, tmp_path / "m"))
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in model.named_parameters()]
    assert all(torch.equal(p, dict(model.named_parameters())[name]) for name, p in ours.named_parameters())


@EACH
def test_native_model_saves_files_of_transformers(micro: Loaded, tmp_path: Path, make: Make) -> None:
    first = write_checkpoint(make(micro.tokenizer), micro.tokenizer, tmp_path / "first")
    for dtype in (torch.float32, torch.bfloat16):
        ours, reference = (tmp_path / f"{name}-{dtype}" for name in ("ours", "theirs"))
        write_checkpoint(load_own(first, dtype), micro.tokenizer, ours)
        write_checkpoint(AutoModelForCausalLM.from_pretrained(first, dtype=dtype), micro.tokenizer, reference)
        assert sorted(file.name for file in ours.iterdir()) == sorted(file.name for file in reference.iterdir())
        assert weights_sha256(ours) == weights_sha256(reference)
        for name in ("config.json", "generation_config.json"):
            assert json.loads((ours / name).read_text()) == json.loads((reference / name).read_text())


def test_missing_generation_config_uses_end_token_of_config(micro: Loaded, tmp_path: Path) -> None:
    folder = write_checkpoint(qwen2(micro.tokenizer, eos_token_id=7), micro.tokenizer, tmp_path / "m")
    (folder / "generation_config.json").unlink()
    reference: Any = AutoModelForCausalLM.from_pretrained(folder)
    assert load_own(folder).generation_config.eos_token_id == reference.generation_config.eos_token_id == 7


def test_sharded_weights_are_loaded(micro: Loaded, tmp_path: Path) -> None:
    model = qwen2(micro.tokenizer)
    model.save_pretrained(tmp_path, max_shard_size="40KB")
    assert len([*tmp_path.glob("*.safetensors")]) > 1
    assert all(
        torch.equal(p, dict(model.named_parameters())[name]) for name, p in load_own(tmp_path).named_parameters()
    )


def test_unknown_architecture_is_loaded_by_transformers(micro: Loaded, tmp_path: Path) -> None:
    model = GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=1, n_head=2, vocab_size=512))
    folder = write_checkpoint(model, micro.tokenizer, tmp_path / "m")
    assert load_native(folder, torch.float32) is None
    assert isinstance(load(ModelConfig(path=str(folder), device="cpu")).model, GPT2LMHeadModel)


@pytest.mark.parametrize("change", ["named otherwise", "one too many", "quantised"])
def test_unusual_checkpoint_is_left_to_transformers(micro: Loaded, tmp_path: Path, change: str) -> None:
    folder = write_checkpoint(micro.model, micro.tokenizer, tmp_path / "m")
    tensors = load_file(folder / "model.safetensors")
    if change == "named otherwise":
        tensors = {name.removeprefix("model."): tensor for name, tensor in tensors.items()}
    if change == "one too many":
        tensors["model.rotary_emb.inv_freq"] = torch.zeros(4)
    if change == "quantised":
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | {"quantization_config": {"quant_method": "gptq"}}))
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    assert load_native(folder, torch.float32) is None


def test_class_of_transformers_is_loaded_on_request(micro: Loaded, micro_of_transformers: Loaded) -> None:
    assert isinstance(micro.model, NativeModel)
    assert isinstance(micro_of_transformers.model, PreTrainedModel)


def test_native_load_imports_no_modelling_code_of_transformers() -> None:
    """Configs of some architectures, such as Llama, import validators that need more."""
    done = subprocess.run([sys.executable, "-c", LOAD_MICRO], env=ENV, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
