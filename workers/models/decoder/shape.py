"""The shape of a decoder-only model, read from its config, and the canonical names of its parameters.

Canonical means Hugging Face's: `model.layers.0.self_attn.q_proj.weight`, a tied head counted once as
`model.embed_tokens.weight`. Noise and checkpoints are named alike, even if tensors are fused or split in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

MODEL_TYPES = ("qwen2", "qwen3", "llama", "mistral", "gemma2", "gemma3_text")
ACTIVATIONS: dict[str, Literal["silu", "gelu_tanh"]] = {"silu": "silu", "gelu_pytorch_tanh": "gelu_tanh"}
"""The name in a config -> ours."""
LAYER_TYPES = ("full_attention", "sliding_attention")
# The other kinds (dynamic, longrope) turn positions by an angle that depends on the length reached so far.
ROPE_TYPES = ("default", "linear", "llama3", "yarn")


class UnknownShape(ValueError):
    """The decoder does not know this architecture. The message gives the reason."""


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
        """Return keys and values alone, which are all that is needed of the deepest layer for a token that is only
        read."""
        return Map(self.qkv.parts[1:])

    @property
    def maps(self) -> tuple[Map, ...]:
        """Return every linear map in this layer."""
        return (self.qkv, self.out, self.gate_up, self.down)

    @property
    def norms(self) -> tuple[str, ...]:
        """Return the weights of every RMSNorm in this layer."""
        names = (self.norm_attention, self.q_norm, self.k_norm, self.norm_attended, self.norm_mlp, self.norm_mlp_out)
        return tuple(name for name in names if name is not None)


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
    """True if RMSNorms multiply by 1 + weight, in float32 and before the cast, as Gemma's do."""
    embed_scale: float = 1.0
    """Factor of the embedding, rounded to the precision of the activations."""
    attention_softcap: float | None = None
    """c: scores become c · tanh(score / c) (Gemma 2)."""
    logit_softcap: float | None = None

    @property
    def maps(self) -> tuple[Map, ...]:
        """Return every linear map that the forward pass uses."""
        return (*(m for layer in self.layers for m in layer.maps), self.layers[-1].kv, self.head)

    @property
    def norms(self) -> tuple[str, ...]:
        """Return the weights of every RMSNorm."""
        return (*(name for layer in self.layers for name in layer.norms), self.norm)


def shape_of(model: Any) -> Shape:
    """Return the shape of a causal language model, `NativeModel` or of transformers. Raises UnknownShape."""
    # Checked before the model's parts are read, since another architecture has other parts.
    if reason := unknown_reason(model.config):
        raise UnknownShape(reason)
    return read_shape(model.config, is_tied=model.lm_head.weight is model.model.embed_tokens.weight)


def read_shape(config: Any, *, is_tied: bool) -> Shape:
    """Return the shape that this config of transformers describes. Raise UnknownShape.

    `is_tied` is true if the head is the embedding, and overrides the config.
    """
    if reason := unknown_reason(config):
        raise UnknownShape(reason)
    is_gemma = _is_gemma(config)
    return Shape(
        layers=tuple(_layer(config, i) for i in range(config.num_hidden_layers)),
        heads=config.num_attention_heads,
        kv_heads=config.num_key_value_heads,
        head_dim=head_dim(config),
        eps=config.rms_norm_eps,
        embed="model.embed_tokens.weight",
        norm="model.norm.weight",
        head=Map(("model.embed_tokens" if is_tied else "lm_head",)),
        attention_scale=(config.query_pre_attn_scalar if is_gemma else head_dim(config)) ** -0.5,
        activation=ACTIVATIONS[_activation(config)],
        has_offset_norms=is_gemma,
        embed_scale=config.hidden_size**0.5 if is_gemma else 1.0,
        # Gemma 3's config has this key too, and its model leaves the key unread.
        attention_softcap=config.attn_logit_softcapping if config.model_type == "gemma2" else None,
        logit_softcap=config.final_logit_softcapping if is_gemma else None,
    )


def head_dim(config: Any) -> int:
    """Return the size of one attention head: some configs name it, for the others it follows from their sizes."""
    return int(getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads)


def unknown_reason(config: Any) -> str | None:
    """Return why the decoder cannot run a model with this config of transformers; None if it can."""
    if config.model_type not in MODEL_TYPES:
        return f"model type {config.model_type} is not one of {', '.join(MODEL_TYPES)}"
    if _activation(config) not in ACTIVATIONS:
        return f"activation {_activation(config)} is not one of {', '.join(ACTIVATIONS)}"
    if getattr(config, "quantization_config", None) is not None:
        return "its weights are quantised"
    return _unknown_attention(config) or _unknown_rotary(config)


def _unknown_attention(config: Any) -> str | None:
    if getattr(config, "use_bidirectional_attention", None):
        return "tokens attend to those after them"
    types = getattr(config, "layer_types", None) or []
    if unknown := sorted(set(types) - set(LAYER_TYPES)):
        return f"layer type {unknown[0]} is not one of {', '.join(LAYER_TYPES)}"
    if config.model_type in ("llama", "mistral") and len({*types, *_types_of_all(config)}) > 1:
        return f"model type {config.model_type} has the same attention in all layers, and the config names layer types"
    if "sliding_attention" in types and config.sliding_window is None:
        return "some layers use a sliding window whose size is not given"
    return None


def _unknown_rotary(config: Any) -> str | None:
    tables = [config.rope_parameters]
    if config.model_type == "gemma3_text":
        tables = [config.rope_parameters[kind] for kind in sorted(set(config.layer_types))]
    for table in tables:
        if (kind := table.get("rope_type", "default")) not in ROPE_TYPES:
            return f"rope type {kind} is not one of {', '.join(ROPE_TYPES)}"
        if table.get("partial_rotary_factor", 1.0) != 1.0:
            return "rotary positions cover only a part of each head"
    return None


def _types_of_all(config: Any) -> list[str]:
    """Return the type of every layer where the config lists none."""
    is_windowed = config.model_type == "mistral" and config.sliding_window is not None
    return ["sliding_attention" if is_windowed else "full_attention"] * config.num_hidden_layers


def _is_gemma(config: Any) -> bool:
    return config.model_type in ("gemma2", "gemma3_text")


def _activation(config: Any) -> str:
    return str(config.hidden_activation if _is_gemma(config) else config.hidden_act)


def _layer(config: Any, index: int) -> Layer:
    at = f"model.layers.{index}"
    attention, mlp = f"{at}.self_attn", f"{at}.mlp"
    kind = (getattr(config, "layer_types", None) or _types_of_all(config))[index]
    is_gemma, has_head_norms = _is_gemma(config), config.model_type in ("qwen3", "gemma3_text")
    return Layer(
        norm_attention=f"{at}.input_layernorm.weight",
        qkv=Map((f"{attention}.q_proj", f"{attention}.k_proj", f"{attention}.v_proj")),
        out=Map((f"{attention}.o_proj",)),
        # In Gemma's layers this is the norm behind attention, in all others the one before the MLP.
        norm_mlp=f"{at}.{'pre_feedforward' if is_gemma else 'post_attention'}_layernorm.weight",
        gate_up=Map((f"{mlp}.gate_proj", f"{mlp}.up_proj")),
        down=Map((f"{mlp}.down_proj",)),
        q_norm=f"{attention}.q_norm.weight" if has_head_norms else None,
        k_norm=f"{attention}.k_norm.weight" if has_head_norms else None,
        norm_attended=f"{at}.post_attention_layernorm.weight" if is_gemma else None,
        norm_mlp_out=f"{at}.post_feedforward_layernorm.weight" if is_gemma else None,
        window=config.sliding_window if kind == "sliding_attention" else None,
        rotary=kind if config.model_type == "gemma3_text" else "full_attention",
    )
