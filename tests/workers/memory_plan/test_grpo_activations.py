"""The bytes that a layer saves for its backward pass are those that torch and transformers save for a Qwen2 model."""

from __future__ import annotations

from typing import Any

import peft
import pytest
import torch
from transformers import AutoConfig, AutoModel

from workers.memory_plan import ModelSizes
from workers.memory_plan.grpo_parts import layer_activation_bytes

CONFIG = {
    "hidden_size": 128, "intermediate_size": 384, "num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 64,
}  # fmt: skip
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
ROWS, COLUMNS = 4, 64


def build(layers: int, dtype: torch.dtype, *, lora: bool) -> Any:
    """Return a model of so many layers, with or without an adapter of rank 1."""
    described = AutoConfig.for_model("qwen2", num_hidden_layers=layers, use_cache=False, **CONFIG)
    model = AutoModel.from_config(described, dtype=dtype, attn_implementation="sdpa")
    if not lora:
        return model
    model = peft.inject_adapter_in_model(peft.LoraConfig(r=1, target_modules=TARGETS), model.requires_grad_(False))
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            # As peft's own models hold their adapters.
            parameter.data = parameter.data.float()
    return model


def measure_bytes(model: Any, *, autocast: bool) -> int:
    """Return the bytes that a forward pass over padded rows saves, each storage once, without the model's weights."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    storages: dict[int, torch.UntypedStorage] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            storages[storage.data_ptr()] = storage
        return tensor

    mask = torch.ones(ROWS, COLUMNS, dtype=torch.long)
    mask[0, :5] = 0
    with (
        torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
        torch.autocast("cpu", torch.bfloat16, enabled=autocast),
    ):
        model.train()(torch.ones_like(mask), attention_mask=mask)
        return sum(storage.nbytes() for storage in storages.values())


@pytest.mark.parametrize(
    ("dtype", "lora", "autocast"),
    [
        (torch.float32, False, True),
        (torch.bfloat16, True, True),
        (torch.float32, False, False),
        (torch.float32, True, False),
    ],
    ids=["full", "lora", "float32", "float32-lora"],
)
def test_layer_saves_the_planned_bytes(dtype: torch.dtype, lora: bool, autocast: bool) -> None:
    small, large = (measure_bytes(build(layers, dtype, lora=lora), autocast=autocast) for layers in (2, 4))
    sizes = ModelSizes.from_config(
        CONFIG | {"num_hidden_layers": 2, "model_type": "qwen2"}, 2 if autocast else 4
    )  # fmt: skip
    casts = 2 * sizes.layer_numbers if autocast and not lora else 0
    planned = ROWS * COLUMNS * layer_activation_bytes(sizes, COLUMNS, is_lora=lora) + casts

    # The adapter itself saves a few numbers per token more.
    assert (large - small) / 2 == pytest.approx(planned, rel=0.01 if lora else 1e-9)
