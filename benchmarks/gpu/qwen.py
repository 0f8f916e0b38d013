"""The parameters of a 1.5B model of the Qwen2 shape: names and shapes, and random values."""

from __future__ import annotations

import torch
from torch import Tensor

LAYERS, HIDDEN, MLP, HEADS, KV_HEADS, VOCABULARY = 28, 1536, 8960, 12, 2, 151_936


def shapes() -> dict[str, tuple[int, ...]]:
    """Return name -> shape of all 338 parameters; the output matrix is the embedding."""
    kv = KV_HEADS * HIDDEN // HEADS
    layer: dict[str, tuple[int, ...]] = {
        "self_attn.q_proj.weight": (HIDDEN, HIDDEN),
        "self_attn.q_proj.bias": (HIDDEN,),
        "self_attn.k_proj.weight": (kv, HIDDEN),
        "self_attn.k_proj.bias": (kv,),
        "self_attn.v_proj.weight": (kv, HIDDEN),
        "self_attn.v_proj.bias": (kv,),
        "self_attn.o_proj.weight": (HIDDEN, HIDDEN),
        "mlp.gate_proj.weight": (MLP, HIDDEN),
        "mlp.up_proj.weight": (MLP, HIDDEN),
        "mlp.down_proj.weight": (HIDDEN, MLP),
        "input_layernorm.weight": (HIDDEN,),
        "post_attention_layernorm.weight": (HIDDEN,),
    }
    layers = {f"model.layers.{i}.{name}": shape for i in range(LAYERS) for name, shape in layer.items()}
    return {"model.embed_tokens.weight": (VOCABULARY, HIDDEN)} | layers | {"model.norm.weight": (HIDDEN,)}


def random_masters(device: torch.device) -> dict[str, Tensor]:
    """Return float32 values of the size that weights have."""
    return {name: torch.randn(shape, device=device).mul_(0.02) for name, shape in shapes().items()}
