"""Layer, kind and group of a tensor by its canonical name, such as `model.layers.3.mlp.up_proj.weight`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workers.config.probe import LAYERS

LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.(.+)", re.DOTALL)


@dataclass(frozen=True)
class TensorName:
    """A tensor's name, its layer (None outside of the layers) and its kind, such as `self_attn.q_proj`."""

    name: str
    layer: int | None
    kind: str


def parse_name(name: str) -> TensorName:
    """Return layer and kind of a tensor."""
    stem = name.removesuffix(".weight")
    match = LAYER.search(stem)
    return TensorName(name, int(match[1]), match[2]) if match else TensorName(name, None, stem.removeprefix("model."))


def group_of(name: str, *, is_tied: bool = False) -> str:
    """Return the group of a tensor: embedding, attention, mlp, norm or head.

    `is_tied`: the embedding is also the head, so that it belongs to that group.
    """
    kind = parse_name(name).kind.rpartition("transformer.")[2]
    if "norm" in kind or kind.startswith("ln_"):
        return "norm"
    if kind.startswith("lm_head"):
        return "head"
    if "embed" in kind or kind in ("wte", "wpe"):
        return "head" if is_tied and kind != "wpe" else "embedding"
    return "attention" if "attn" in kind or "attention" in kind else "mlp"


def is_in_layers(name: str, layers: str) -> bool:
    """Return whether a tensor belongs to layers of the form layers:<first>-<last>; False for a text of another form."""
    ends = LAYERS.fullmatch(layers)
    layer = parse_name(name).layer
    return ends is not None and layer is not None and int(ends[1]) <= layer <= int(ends[2])
