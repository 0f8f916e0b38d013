"""The shape of a Qwen2- or Llama-like model, read from its config, and the canonical names of its parameters.

Canonical means Hugging Face's: `model.layers.0.self_attn.q_proj.weight`, a tied head counted once as
`model.embed_tokens.weight`. Noise and checkpoints are named alike, whatever fuses or splits tensors in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

MODEL_TYPES = ("qwen2", "llama")
# The other kinds (dynamic, longrope) turn positions by an angle that depends on the length reached so far.
ROPE_TYPES = ("default", "linear", "llama3", "yarn")


class UnknownShape(ValueError):
    """The decoder does not know this architecture. The message says what about it."""


@dataclass(frozen=True)
class Map:
    """One or several linear layers that read the same input, computed as one matrix product."""

    parts: tuple[str, ...]

    @property
    def weights(self) -> tuple[str, ...]:
        return tuple(f"{part}.weight" for part in self.parts)

    @property
    def biases(self) -> tuple[str, ...]:
        return tuple(f"{part}.bias" for part in self.parts)


@dataclass(frozen=True)
class Layer:
    """Names inside one decoder layer, and the tokens that it attends to.

    `q_norm`, `k_norm`: RMSNorms over the elements of each head (Qwen3, Gemma 3). `norm_attended`, `norm_mlp_out`:
    RMSNorms of what attention and MLP add to the residual stream (Gemma). None where the architecture has none.
    """

    norm_attention: str
    qkv: Map
    out: Map
    norm_mlp: str
    gate_up: Map
    down: Map
    q_norm: str | None = None
    k_norm: str | None = None
    norm_attended: str | None = None
    norm_mlp_out: str | None = None
    window: int | None = None
    """Each token attends to this many tokens, itself included; None: to all before it."""
    rotary: str = "full_attention"
    """The layer type that the rotary module is called with, where it has a table for each."""

    @property
    def kv(self) -> Map:
        """Keys and values alone, all that is asked of the deepest layer where a token is only read."""
        return Map(self.qkv.parts[1:])


@dataclass(frozen=True)
class Shape:
    """Sizes and names; `head` names the embedding where the two are tied."""

    layers: tuple[Layer, ...]
    heads: int
    kv_heads: int
    head_dim: int
    eps: float
    embed: str
    norm: str
    head: Map
    attention_scale: float
    """Factor of the scores before the softmax."""
    activation: Literal["silu", "gelu_tanh"] = "silu"
    has_offset_norms: bool = False
    """Whether RMSNorms multiply by 1 + weight, in float32 and before the cast, as Gemma's do."""
    embed_scale: float = 1.0
    """Factor of the embedding, rounded to the precision of the activations."""
    attention_softcap: float | None = None
    """c: scores become c · tanh(score / c) (Gemma 2)."""
    logit_softcap: float | None = None

    @property
    def maps(self) -> tuple[Map, ...]:
        """Every linear map that the forward pass asks for."""
        inner = (m for layer in self.layers for m in (layer.qkv, layer.out, layer.gate_up, layer.down))
        return (*inner, self.layers[-1].kv, self.head)


def shape_of(model: Any) -> Shape:
    """Return the shape of a causal language model, `NativeModel` or of transformers. Raises UnknownShape."""
    config = model.config
    if reason := why_unknown(config):
        raise UnknownShape(reason)
    tied = model.lm_head.weight is model.model.embed_tokens.weight
    return Shape(
        layers=tuple(_layer(f"model.layers.{i}") for i in range(config.num_hidden_layers)),
        heads=config.num_attention_heads,
        kv_heads=config.num_key_value_heads,
        head_dim=head_dim(config),
        eps=config.rms_norm_eps,
        attention_scale=head_dim(config) ** -0.5,
        embed="model.embed_tokens.weight",
        norm="model.norm.weight",
        head=Map(("model.embed_tokens" if tied else "lm_head",)),
    )


def head_dim(config: Any) -> int:
    """Return the size of one attention head: some configs name it, for the others it follows from their sizes."""
    return int(getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads)


def why_unknown(config: Any) -> str | None:
    """Say why the decoder cannot run a model with this config of transformers; return None where it can."""
    if config.model_type not in MODEL_TYPES:
        return f"model type {config.model_type} is none of {', '.join(MODEL_TYPES)}"
    if config.hidden_act != "silu":
        return f"activation {config.hidden_act} is not silu"
    if any(kind != "full_attention" for kind in getattr(config, "layer_types", None) or ()):
        return "some layers attend through a sliding window"
    rope = config.rope_parameters.get("rope_type", "default")
    return None if rope in ROPE_TYPES else f"rope type {rope} is none of {', '.join(ROPE_TYPES)}"


def _layer(at: str) -> Layer:
    attention, mlp = f"{at}.self_attn", f"{at}.mlp"
    return Layer(
        norm_attention=f"{at}.input_layernorm.weight",
        qkv=Map((f"{attention}.q_proj", f"{attention}.k_proj", f"{attention}.v_proj")),
        out=Map((f"{attention}.o_proj",)),
        norm_mlp=f"{at}.post_attention_layernorm.weight",
        gate_up=Map((f"{mlp}.gate_proj", f"{mlp}.up_proj")),
        down=Map((f"{mlp}.down_proj",)),
    )
