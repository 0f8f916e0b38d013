"""Published config.json files, as far as sizes follow from them, and the models that they describe."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoConfig, GenerationConfig

from workers.memory_plan import ModelSizes
from workers.models.native import NativeModel
from workers.models.native.rotary import RotaryEmbedding

QWEN2_TINY = {
    "model_type": "qwen2", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 640, "tie_word_embeddings": True,
}  # fmt: skip
QWEN2_1_5B = {
    "model_type": "qwen2", "hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28,
    "num_attention_heads": 12, "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": True,
}  # fmt: skip
QWEN2_7B = {
    "model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
    "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064, "tie_word_embeddings": False,
}  # fmt: skip
LLAMA3_8B = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False,
}  # fmt: skip
QWEN3_4B = {
    "model_type": "qwen3", "hidden_size": 2560, "intermediate_size": 9728, "num_hidden_layers": 36,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
    "tie_word_embeddings": True,
}  # fmt: skip
GEMMA2_2B = {
    "model_type": "gemma2", "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 256000,
}  # fmt: skip
PUBLISHED = {
    "qwen2-1.5b": QWEN2_1_5B, "qwen2-7b": QWEN2_7B, "llama3-8b": LLAMA3_8B, "qwen3-4b": QWEN3_4B, "gemma2-2b": GEMMA2_2B
}  # fmt: skip


def sizes_of(config: dict[str, Any], number_bytes: int = 2) -> ModelSizes:
    """Return the sizes, by default with numbers of bfloat16."""
    return ModelSizes.from_config(config, number_bytes)


def build_on_meta(config: dict[str, Any]) -> NativeModel:
    """Return the model without memory for its weights. Qwen2 has biases at queries, keys and values."""
    config = dict(config)
    described = AutoConfig.for_model(config.pop("model_type"), **config)
    linear = ("q_proj", "k_proj", "v_proj") if described.model_type == "qwen2" else ()
    biased = frozenset(
        f"model.layers.{layer}.self_attn.{name}" for layer in range(described.num_hidden_layers) for name in linear
    )
    rotary = RotaryEmbedding(described)
    with torch.device("meta"):
        return NativeModel(described, GenerationConfig(), rotary, biased)
