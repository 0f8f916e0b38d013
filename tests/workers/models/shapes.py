"""Small models with random weights and the micro model's tokenizer, for tests of the decoder and the engines."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import torch
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

Make: TypeAlias = Callable[..., Any]
"""(tokenizer) -> a model of transformers."""

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 512,
    # Large enough that the likeliest token leads by far more than a rounding error.
    "initializer_range": 0.3,
}


def qwen2(tokenizer: Any, seed: int = 0, **changes: Any) -> Any:
    return _build(Qwen2ForCausalLM, Qwen2Config(**{**SIZES, "tie_word_embeddings": True, **changes}), tokenizer, seed)


def llama(tokenizer: Any, seed: int = 0, **changes: Any) -> Any:
    return _build(LlamaForCausalLM, LlamaConfig(**{**SIZES, "tie_word_embeddings": False, **changes}), tokenizer, seed)


def qwen3(tokenizer: Any, seed: int = 0, **changes: Any) -> Any:
    return _build(Qwen3ForCausalLM, Qwen3Config(**{**SIZES, "head_dim": 12, **changes}), tokenizer, seed)


def mistral(tokenizer: Any, seed: int = 0, **changes: Any) -> Any:
    return _build(MistralForCausalLM, MistralConfig(**{**SIZES, **changes}), tokenizer, seed)


def gemma2(tokenizer: Any, seed: int = 0, **changes: Any) -> Any:
    own = {"head_dim": 12, "query_pre_attn_scalar": 6, "sliding_window": 4}
    return _build(Gemma2ForCausalLM, Gemma2Config(**{**SIZES, **own, **CAPS, **changes}), tokenizer, seed)


def gemma3(tokenizer: Any, seed: int = 0, **changes: Any) -> Any:
    own = {"head_dim": 12, "query_pre_attn_scalar": 6, "sliding_window": 4, "rope_parameters": TWO_TABLES}
    types = ["sliding_attention", "full_attention", "sliding_attention"]
    own |= {"layer_types": types, "num_hidden_layers": len(types)}
    return _build(Gemma3ForCausalLM, Gemma3TextConfig(**{**SIZES, **own, **changes}), tokenizer, seed)


# Low enough that most scores and logits of these models are bent.
CAPS = {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 0.5}
WINDOWS = {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}
ODD_HEADS = {"head_dim": 12, "num_key_value_heads": 1, "attention_bias": True, "mlp_bias": True}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 5e5,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 16}
LINEAR = {"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0}
TWO_TABLES = {"full_attention": {**LINEAR, "rope_theta": 1e6}, "sliding_attention": {"rope_theta": 30.0}}
ARCHITECTURES: dict[str, Make] = {
    "tied qwen2": qwen2,
    "untied qwen2 with yarn": partial(qwen2, tie_word_embeddings=False, rope_parameters=YARN),
    "qwen2 with windows": partial(qwen2, **WINDOWS),
    "qwen3": qwen3,
    "tied qwen3 with biases and windows": partial(qwen3, tie_word_embeddings=True, attention_bias=True, **WINDOWS),
    "llama, linear rope": partial(llama, rope_parameters=LINEAR),
    "tied llama, llama3 rope": partial(llama, tie_word_embeddings=True, rope_parameters=LLAMA3_ROPE),
    "llama with biases": partial(llama, **ODD_HEADS),
    "mistral without windows": partial(mistral, sliding_window=None),
    "mistral with windows and odd heads": partial(mistral, sliding_window=5, head_dim=12),
    "gemma2": gemma2,
    "untied gemma2 with biases": partial(gemma2, tie_word_embeddings=False, attention_bias=True),
    "gemma2 without caps": partial(gemma2, attn_logit_softcapping=None, final_logit_softcapping=None),
    "gemma3": gemma3,
    "gemma3 with a cap of logits": partial(gemma3, final_logit_softcapping=0.5),
}
"""Models of every architecture that the decoder knows, by what is particular about each."""


def _build(kind: Any, config: Any, tokenizer: Any, seed: int) -> Any:
    torch.manual_seed(seed)
    model = kind(config).eval().requires_grad_(False)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.normal_(std=0.3)
        if "norm" in name:
            # Around 1, or around 0 where the model adds 1.
            parameter.add_(torch.empty_like(parameter).normal_(std=0.3))
    if "gemma" in config.model_type:
        # Gemma multiplies it by √32: left as large as that, it would drown what the layers add.
        model.model.embed_tokens.weight.mul_(0.2)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model


def prompts(count: int) -> list[str]:
    """Return different chat prompts of many lengths."""
    texts = (f"What is {'the capital of ' * (i % 7)}river {i}?" for i in range(count))
    return [f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n" for text in texts]


def generated(model: Any, tokenizer: Any, texts: list[str], max_new_tokens: int) -> list[list[int]]:
    """Return the greedy answers of transformers as token ids, each up to and including its end token."""
    tokens = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
    out = model.generate(**tokens, do_sample=False, max_new_tokens=max_new_tokens)
    rows = out[:, tokens["input_ids"].shape[1] :].tolist()
    return [row[: row.index(tokenizer.eos_token_id) + 1] if tokenizer.eos_token_id in row else row for row in rows]


def logits(model: Any, tokenizer: Any, text: str) -> torch.Tensor:
    tokens = tokenizer(text, return_tensors="pt", add_special_tokens=False)["input_ids"]
    return model(tokens).logits[0, -1]
