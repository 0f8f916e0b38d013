"""Models of the Qwen2 shape with random weights, and a tokenizer of their size: for measuring speed and memory."""

from __future__ import annotations

import itertools
import json
import string
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig, Qwen2Config

from workers.models import Loaded
from workers.models.native import build_native


@dataclass(frozen=True)
class QwenSizes:
    """Sizes of a model."""

    hidden: int
    inner: int
    heads: int
    kv_heads: int
    vocabulary: int
    is_tied: bool
    layers: int = 28

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return name -> shape of all parameters; a tied output matrix is the embedding."""
        kv = self.kv_heads * self.hidden // self.heads
        layer: dict[str, tuple[int, ...]] = {
            "self_attn.q_proj.weight": (self.hidden, self.hidden),
            "self_attn.q_proj.bias": (self.hidden,),
            "self_attn.k_proj.weight": (kv, self.hidden),
            "self_attn.k_proj.bias": (kv,),
            "self_attn.v_proj.weight": (kv, self.hidden),
            "self_attn.v_proj.bias": (kv,),
            "self_attn.o_proj.weight": (self.hidden, self.hidden),
            "mlp.gate_proj.weight": (self.inner, self.hidden),
            "mlp.up_proj.weight": (self.inner, self.hidden),
            "mlp.down_proj.weight": (self.hidden, self.inner),
            "input_layernorm.weight": (self.hidden,),
            "post_attention_layernorm.weight": (self.hidden,),
        }
        layers = {f"model.layers.{i}.{name}": shape for i in range(self.layers) for name, shape in layer.items()}
        head = {} if self.is_tied else {"lm_head.weight": (self.vocabulary, self.hidden)}
        table = {"model.embed_tokens.weight": (self.vocabulary, self.hidden)}
        return table | layers | {"model.norm.weight": (self.hidden,)} | head

    def config(self) -> Qwen2Config:
        """Return the config of transformers."""
        return Qwen2Config(
            hidden_size=self.hidden,
            intermediate_size=self.inner,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            num_key_value_heads=self.kv_heads,
            vocab_size=self.vocabulary,
            tie_word_embeddings=self.is_tied,
            max_position_embeddings=4096,
            rms_norm_eps=1e-6,
            architectures=["Qwen2ForCausalLM"],
            dtype="bfloat16",
        )


QWEN_1B = QwenSizes(1536, 8960, 12, 2, 151_936, is_tied=True)
QWEN_7B = QwenSizes(3584, 18_944, 28, 4, 152_064, is_tied=False)


def random_masters(device: torch.device, sizes: QwenSizes = QWEN_1B) -> dict[str, Tensor]:
    """Return float32 values of the size that weights have."""
    return {name: torch.randn(shape, device=device).mul_(0.02) for name, shape in sizes.shapes().items()}


def load_random(sizes: QwenSizes, folder: Path, device: torch.device) -> Loaded:
    """Return a model in bfloat16 whose weights are random, with the tokenizer of `write_folder`'s folder."""
    from transformers import AutoTokenizer

    generator = torch.Generator(device=device).manual_seed(0)
    tensors = {}
    for name, shape in sizes.shapes().items():
        values = torch.empty(shape, device=device, dtype=torch.bfloat16).normal_(std=0.02, generator=generator)
        tensors[name] = values.add_(1.0) if "norm" in name else values
    model = build_native(sizes.config(), GenerationConfig(), tensors)
    if model is None:
        raise RuntimeError("these tensors are not those of the config")
    # No token ends an answer.
    model.generation_config.eos_token_id = -1
    model.to(device).eval().requires_grad_(False)
    return Loaded(model, AutoTokenizer.from_pretrained(folder), folder, device, torch.bfloat16, 1)


def write_folder(sizes: QwenSizes, folder: Path) -> None:
    """Write a config and a tokenizer of byte-pair tokens, each a random-looking word, without weights."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = ("".join(word) for length in (3, 4) for word in itertools.product(string.ascii_lowercase, repeat=length))
    spaced = itertools.chain.from_iterable((word, f"Ġ{word}") for word in words)
    vocabulary: dict[str, int] = {}
    for token in itertools.chain(["<|endoftext|>"], letters, spaced):
        if len(vocabulary) == sizes.vocabulary:
            break
        vocabulary.setdefault(token, len(vocabulary))
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special: dict[str, Any] = {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
    sizes.config().save_pretrained(folder)
    _write_generation_config(folder)


def write_model(sizes: QwenSizes, folder: Path, device: torch.device) -> None:
    """Write what `write_folder` writes, and the weights of `load_random` as safetensors."""
    write_folder(sizes, folder)
    load_random(sizes, folder, device).model.save_pretrained(folder)
    # Saving has replaced it by that of the random model, whose end token does not exist.
    _write_generation_config(folder)


def _write_generation_config(folder: Path) -> None:
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": 0}), encoding="utf-8")
