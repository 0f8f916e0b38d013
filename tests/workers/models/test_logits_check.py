"""A decoder is compared with transformers' class of the same tensors, and refused if it computes something else."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.cases import each_case
from tests.workers.models.shapes import ARCHITECTURES, Make, gemma3, llama, qwen2, qwen3
from workers.models import Loaded
from workers.models.decoder import Decoder
from workers.models.logits_check import (
    WINDOW,
    LastLogits,
    LogitsDiffer,
    check_logits,
    check_once,
    compare,
    make_reference,
    sample_prompts,
    truncate,
)

EACH = each_case("make", ARCHITECTURES.values(), ids=ARCHITECTURES.keys())


def logits_of(small: Any, micro: Loaded) -> LastLogits:
    """Return the decoder's logits of a model."""
    return Decoder(small, micro.tokenizer).last_logits


@EACH
def test_check_logits_finds_rounding_alone_in_each_known_shape(micro: Loaded, make: Make) -> None:
    small = truncate(make(micro.tokenizer))
    assert 0 < check_logits(logits_of(small, micro), small).relative < 1e-5


@EACH
def test_check_logits_accepts_bfloat16(micro: Loaded, make: Make) -> None:
    small = truncate(make(micro.tokenizer).to(torch.bfloat16))
    # More than float32 would explain: the decoder computes in the model's own precision.
    assert 1e-3 < check_logits(logits_of(small, micro), small).relative < 0.15


@each_case(
    ("make", "name"),
    [
        (qwen2, "model.layers.0.self_attn.k_proj.bias"),
        (qwen3, "model.layers.1.self_attn.q_norm.weight"),
        (gemma3, "model.layers.0.self_attn.k_norm.weight"),
        (gemma3, "model.layers.1.post_feedforward_layernorm.weight"),
        (llama, "lm_head.weight"),
    ],
    ids=["bias", "norm of queries", "norm of keys", "norm of the MLP's result", "head"],
)
@each_case("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_check_logits_refuses_a_scaled_tensor(micro: Loaded, make: Make, name: str, dtype: torch.dtype) -> None:
    small = truncate(make(micro.tokenizer).to(dtype))
    other = copy.deepcopy(small)
    other.get_parameter(name).mul_(3.0)
    with pytest.raises(LogitsDiffer, match=r"differ from those of transformers by up to [\d.]+, [\d.]+ of their"):
        check_logits(logits_of(other, micro), small)


def test_check_logits_refuses_logits_that_are_no_numbers(micro: Loaded) -> None:
    small = truncate(micro.model)
    with pytest.raises(LogitsDiffer, match="by up to nan"):
        check_logits(lambda prompts: torch.full((len(prompts), 512), torch.nan), small)


def test_compare_measures_the_worst_row_relative_to_its_spread() -> None:
    expected = torch.tensor([[101.0, 99.0], [10.0, -10.0]])
    difference = compare(expected + torch.tensor([[0.5, 0.5], [1.0, 1.0]]), expected)
    assert difference.largest == 1.0
    assert difference.relative == pytest.approx(0.5)


def test_compare_refuses_logits_of_another_shape() -> None:
    with pytest.raises(ValueError, match=r"shape \(1, 3\), not \(2, 3\)"):
        compare(torch.zeros(1, 3), torch.zeros(2, 3))


def test_sample_prompts_share_a_beginning_and_are_longer_than_the_window() -> None:
    first, second, *_ = prompts = sample_prompts(512)
    assert len({tuple(prompt[:6]) for prompt in prompts}) == 1
    assert first != second
    assert min(map(len, prompts)) > WINDOW
    assert all(0 <= token < 512 for prompt in prompts for token in prompt)


def test_truncated_model_shares_the_tensors_of_one_layer_of_each_kind(micro: Loaded) -> None:
    types = ["sliding_attention"] * 3 + ["full_attention"] + ["sliding_attention"] * 2
    model = gemma3(micro.tokenizer, layer_types=types, num_hidden_layers=len(types), sliding_window=100)
    small, tensors = truncate(model), dict(model.named_parameters())
    assert small.config.layer_types == types[:4]
    assert small.config.sliding_window == WINDOW
    assert (model.config.num_hidden_layers, model.config.sliding_window) == (6, 100)
    assert len(small.model.layers) == 4
    assert all(p.data_ptr() == tensors[name].data_ptr() for name, p in small.named_parameters())


def test_reference_is_the_class_of_transformers_with_the_same_tensors(micro: Loaded) -> None:
    small = truncate(qwen3(micro.tokenizer))
    reference, tensors = make_reference(small, torch.float32), dict(small.named_parameters())
    assert type(reference).__name__ == "Qwen3ForCausalLM"
    assert all(p.data_ptr() == tensors[name].data_ptr() for name, p in reference.named_parameters())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache folder, which is the project's."""
    monkeypatch.setenv("ESWEB_CACHE", str(tmp_path))
    return tmp_path


def test_check_once_compares_again_only_after_a_change(micro: Loaded, cache: Path) -> None:
    checked: list[Any] = []

    def make(small: Any) -> LastLogits:
        checked.append(small)
        return logits_of(small, micro)

    model = qwen3(micro.tokenizer)
    first = check_once("decoder", model, make)
    assert check_once("decoder", model, make) == first
    assert len(checked) == 1
    check_once("another decoder", model, make)
    check_once("decoder", qwen3(micro.tokenizer, rms_norm_eps=1e-5), make)
    check_once("decoder", model.to(torch.bfloat16), make)
    assert len(checked) == len([*cache.rglob("*.json")]) == 4


def test_check_once_records_no_refusal(micro: Loaded, cache: Path) -> None:
    with pytest.raises(LogitsDiffer):
        check_once("decoder", micro.model, lambda small: lambda prompts: torch.zeros(len(prompts), 512))
    assert [*cache.rglob("*.json")] == []
