"""Small models with random weights and the micro model's tokenizer, for tests of the decoder and the engines."""

from __future__ import annotations

from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

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
    return _made(Qwen2ForCausalLM, Qwen2Config(**{**SIZES, "tie_word_embeddings": True, **changes}), tokenizer, seed)


def llama(tokenizer: Any, seed: int = 0, **changes: Any) -> Any:
    return _made(LlamaForCausalLM, LlamaConfig(**{**SIZES, "tie_word_embeddings": False, **changes}), tokenizer, seed)


def _made(kind: Any, config: Any, tokenizer: Any, seed: int) -> Any:
    torch.manual_seed(seed)
    model = kind(config).eval().requires_grad_(False)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.normal_(std=0.3)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model


def prompts(count: int) -> list[str]:
    """Chat prompts of many lengths, all different."""
    texts = (f"What is {'the capital of ' * (i % 7)}river {i}?" for i in range(count))
    return [f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n" for text in texts]


def generated(model: Any, tokenizer: Any, texts: list[str], max_new_tokens: int) -> list[list[int]]:
    """What transformers answers greedily, each through its end token."""
    tokens = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
    out = model.generate(**tokens, do_sample=False, max_new_tokens=max_new_tokens)
    rows = out[:, tokens["input_ids"].shape[1] :].tolist()
    return [row[: row.index(tokenizer.eos_token_id) + 1] if tokenizer.eos_token_id in row else row for row in rows]


def logits(model: Any, tokenizer: Any, text: str) -> torch.Tensor:
    tokens = tokenizer(text, return_tensors="pt", add_special_tokens=False)["input_ids"]
    return model(tokens).logits[0, -1]
