"""Layer, kind and group of tensors of several architectures."""

from __future__ import annotations

import pytest

from tests.cases import each_case
from workers.analysis.tensor_names import TensorName, group_of, is_in_layers, parse_name


@each_case(
    ("name", "layer", "kind", "group"),
    [
        ("model.layers.3.self_attn.q_proj.weight", 3, "self_attn.q_proj", "attention"),
        ("model.layers.11.self_attn.k_proj.bias", 11, "self_attn.k_proj.bias", "attention"),
        ("model.layers.0.mlp.down_proj.weight", 0, "mlp.down_proj", "mlp"),
        ("model.layers.0.input_layernorm.weight", 0, "input_layernorm", "norm"),
        ("model.embed_tokens.weight", None, "embed_tokens", "embedding"),
        ("model.norm.weight", None, "norm", "norm"),
        ("lm_head.weight", None, "lm_head", "head"),
        ("transformer.h.2.attn.c_attn.weight", 2, "attn.c_attn", "attention"),
        ("transformer.wpe.weight", None, "transformer.wpe", "embedding"),
    ],
)
def test_layer_kind_and_group_of_a_name(name: str, layer: int | None, kind: str, group: str) -> None:
    assert parse_name(name) == TensorName(name, layer, kind)
    assert group_of(name) == group


def test_a_tied_embedding_belongs_to_the_head() -> None:
    assert group_of("model.embed_tokens.weight", is_tied=True) == "head"
    assert group_of("model.layers.0.mlp.up_proj.weight", is_tied=True) == "mlp"


@pytest.mark.parametrize(
    ("layers", "members"), [("layers:0-1", [0, 1]), ("layers:2-9", [2]), ("mlp", []), ("layers:1", [])]
)
def test_tensors_of_layers(layers: str, members: list[int]) -> None:
    names = ["lm_head.weight", *(f"model.layers.{i}.mlp.up_proj.weight" for i in range(3))]
    assert [name for name in names if is_in_layers(name, layers)] == [names[i + 1] for i in members]
