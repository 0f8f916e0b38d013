"""`NativeModel` is a Qwen2- or Llama-shaped language model that needs none of transformers' modelling code.

That code takes 3 s of a core to import. Parameters have transformers' names and order, logits equal those of
transformers to the bit, and transformers loads the folders that this model saves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, GenerationConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from workers.models.decoder.shape import head_dim, why_unknown


@dataclass(frozen=True)
class Output:
    """`logits` has the shape [rows, kept tokens, vocabulary]."""

    logits: Tensor


class NativeModel(nn.Module):
    """`biased` names the linear layers that have a bias. `load_state_dict` brings the weights; `tie` goes after it."""

    def __init__(
        self, config: Any, generation_config: GenerationConfig, rotary: RotaryEmbedding, biased: frozenset[str]
    ) -> None:
        super().__init__()
        self.config = config
        self.generation_config = generation_config
        self.model = _Body(config, rotary, biased)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias="lm_head" in biased)
        self.tie()

    def tie(self) -> None:
        """Makes head and embedding one parameter where the config says so."""
        if self.config.tie_word_embeddings:
            self.lm_head.weight = self.model.embed_tokens.weight

    @property
    def device(self) -> torch.device:
        """Return the device that holds the weights."""
        return self.lm_head.weight.device

    def forward(self, input_ids: Tensor, logits_to_keep: int = 0, *, use_cache: bool = False) -> Output:
        """Return the logits of the last `logits_to_keep` tokens of `input_ids` [rows, tokens]; 0 keeps all tokens.

        There is no cache: `use_cache` is accepted because callers also hold models of transformers.
        """
        return Output(self.lm_head(self.model(input_ids)[:, -logits_to_keep:]))

    def save_pretrained(self, folder: Path) -> None:
        """Writes config.json, generation_config.json and the weights, a tied head once."""
        self.config.save_pretrained(folder)
        self.generation_config.save_pretrained(folder)
        tensors = {name: parameter.detach() for name, parameter in self.named_parameters()}
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def load_native(folder: Path, dtype: torch.dtype) -> NativeModel | None:
    """Load a checkpoint folder onto the CPU; return None where only transformers can load it.

    Such a checkpoint has another architecture, or tensors that are quantised or named in another way. Raises
    ValueError for a type of model that transformers does not know either.
    """
    config = AutoConfig.from_pretrained(folder)
    if why_unknown(config) is not None or getattr(config, "quantization_config", None) is not None:
        return None
    tensors: dict[str, Tensor] = {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors |= load_file(file)
    config.dtype = dtype
    biased = frozenset(name.removesuffix(".bias") for name in tensors if name.endswith(".bias"))
    generation_config, rotary = _generation_config(folder, config), RotaryEmbedding(config)
    with torch.device("meta"):
        model = NativeModel(config, generation_config, rotary, biased)
    if _shapes(dict(model.named_parameters())) != _shapes(tensors):
        return None
    # Not strict, since a tied head is not in the file.
    model.load_state_dict({name: tensor.to(dtype) for name, tensor in tensors.items()}, strict=False, assign=True)
    model.tie()
    return model


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in tensors.items()}


def _generation_config(folder: Path, config: Any) -> GenerationConfig:
    if (folder / "generation_config.json").is_file():
        return GenerationConfig.from_pretrained(folder)
    return GenerationConfig.from_model_config(config)


class RotaryEmbedding(nn.Module):
    """Compute cosines and sines [rows, tokens, head dim] of positions [rows, tokens], in the precision of `x`."""

    inv_freq: Tensor

    def __init__(self, config: Any) -> None:
        super().__init__()
        rope = config.rope_parameters
        if rope["rope_type"] == "default":
            even = torch.arange(0, head_dim(config), 2, dtype=torch.float)
            frequencies, self._scaling = 1.0 / (rope["rope_theta"] ** (even / head_dim(config))), 1.0
        else:
            frequencies, self._scaling = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config)
        self.register_buffer("inv_freq", frequencies, persistent=False)

    def forward(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        angles = positions[..., None].float() * self.inv_freq.float()
        both = torch.cat((angles, angles), dim=-1)
        return (both.cos() * self._scaling).to(x.dtype), (both.sin() * self._scaling).to(x.dtype)


class _Body(nn.Module):
    """Turn token ids [rows, tokens] into the normed states [rows, tokens, hidden] that the head reads."""

    def __init__(self, config: Any, rotary: RotaryEmbedding, biased: frozenset[str]) -> None:
        super().__init__()
        # Made from a tensor: drawing first weights on the meta device would import torch's compiler.
        weight = torch.empty(config.vocab_size, config.hidden_size)
        self.embed_tokens: nn.Embedding = nn.Embedding.from_pretrained(weight)  # type: ignore[no-untyped-call]
        layers = (_Layer(config, f"model.layers.{i}", biased) for i in range(config.num_hidden_layers))
        self.layers = nn.ModuleList(layers)
        self.norm = _RMSNorm(config)
        self.rotary_emb = rotary

    def forward(self, input_ids: Tensor) -> Tensor:
        x: Tensor = self.embed_tokens(input_ids)
        rotations = self.rotary_emb(x, torch.arange(input_ids.shape[1], device=x.device)[None])
        for layer in self.layers:
            x = layer(x, rotations)
        normed: Tensor = self.norm(x)
        return normed


class _Layer(nn.Module):
    def __init__(self, config: Any, name: str, biased: frozenset[str]) -> None:
        super().__init__()
        self.self_attn = _Attention(config, f"{name}.self_attn", biased)
        self.mlp = _Mlp(config, f"{name}.mlp", biased)
        self.input_layernorm = _RMSNorm(config)
        self.post_attention_layernorm = _RMSNorm(config)

    def forward(self, x: Tensor, rotations: tuple[Tensor, Tensor]) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), *rotations)
        return torch.add(x, self.mlp(self.post_attention_layernorm(x)))


class _Attention(nn.Module):
    def __init__(self, config: Any, name: str, biased: frozenset[str]) -> None:
        super().__init__()
        self._head_dim = head_dim(config)
        wide = config.num_attention_heads * self._head_dim
        narrow = config.num_key_value_heads * self._head_dim
        self.q_proj = nn.Linear(config.hidden_size, wide, bias=f"{name}.q_proj" in biased)
        self.k_proj = nn.Linear(config.hidden_size, narrow, bias=f"{name}.k_proj" in biased)
        self.v_proj = nn.Linear(config.hidden_size, narrow, bias=f"{name}.v_proj" in biased)
        self.o_proj = nn.Linear(wide, config.hidden_size, bias=f"{name}.o_proj" in biased)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        q, k, v = (self._heads(project(x)) for project in (self.q_proj, self.k_proj, self.v_proj))
        q, k = (t * cos[:, None] + _rotate_half(t) * sin[:, None] for t in (q, k))
        out = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        projected: Tensor = self.o_proj(out.transpose(1, 2).flatten(2))
        return projected

    def _heads(self, projected: Tensor) -> Tensor:
        """[rows, tokens, heads · head dim] -> [rows, heads, tokens, head dim]."""
        return projected.view(*projected.shape[:2], -1, self._head_dim).transpose(1, 2)


class _Mlp(nn.Module):
    def __init__(self, config: Any, name: str, biased: frozenset[str]) -> None:
        super().__init__()
        hidden, inner = config.hidden_size, config.intermediate_size
        self.gate_proj = nn.Linear(hidden, inner, bias=f"{name}.gate_proj" in biased)
        self.up_proj = nn.Linear(hidden, inner, bias=f"{name}.up_proj" in biased)
        self.down_proj = nn.Linear(inner, hidden, bias=f"{name}.down_proj" in biased)

    def forward(self, x: Tensor) -> Tensor:
        projected: Tensor = self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))
        return projected


class _RMSNorm(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(config.hidden_size))
        self._eps = config.rms_norm_eps

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self._eps)
        return self.weight * normed.to(x.dtype)


def _rotate_half(x: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)
