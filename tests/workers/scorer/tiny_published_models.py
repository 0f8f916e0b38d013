"""Tiny models with random weights in the layouts of published ones, written by hand: no class of ours makes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import LlamaConfig, LlamaModel, PreTrainedTokenizerFast

SIZES = {
    "vocab_size": 300,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "initializer_range": 0.3,
}


def tokenizer() -> Any:
    """Return a tokenizer like LLaMA's: <s> before every text, </s> only if written, one token per byte."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: n for n, token in enumerate(["<unk>", "<s>", "</s>", "<pad>", *alphabet])}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    names = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
    return PreTrainedTokenizerFast(tokenizer_object=backend, **names)


def decoder(seed: int) -> Any:
    """Return a plain LLaMA of transformers with random weights."""
    torch.manual_seed(seed)
    return LlamaModel(LlamaConfig(**SIZES)).eval().requires_grad_(False)


def beaver(folder: Path, seed: int = 0, **settings: Any) -> tuple[Any, dict[str, torch.Tensor]]:
    """Write a Safe-RLHF score model with these settings in its config; return its decoder and its other weights."""
    plain = decoder(seed)
    more = {
        "score_head.weight": torch.randn(1, SIZES["hidden_size"]),
        "score_head.bias": torch.randn(1),
        "normalizer.mean": torch.tensor([0.7]),
        "normalizer.var": torch.tensor([4.0]),
        "normalizer.count": torch.tensor([100]),
    }
    config = {
        **plain.config.to_dict(),
        "architectures": ["LlamaForScore"],
        "score_dim": 1,
        "do_normalize": False,
        **settings,
    }
    write(folder, config | settings, {f"model.{name}": value for name, value in plain.state_dict().items()} | more)
    return plain, more


def write(folder: Path, config: dict[str, Any], weights: dict[str, torch.Tensor]) -> None:
    """Write a checkpoint folder."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    save_file(
        {name: value.contiguous() for name, value in weights.items()}, folder / "model.safetensors", {"format": "pt"}
    )
    tokenizer().save_pretrained(folder)
