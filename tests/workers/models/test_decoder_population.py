"""Members decoded together answer as each would alone."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from tests.cases import each_case
from tests.workers.models.shapes import ARCHITECTURES, prompts, qwen2
from workers.models import Loaded
from workers.models.decoder import Decoder, LowRank, Stacked

MEMBERS, RANK, SIGMA = 5, 3, 0.1
SHAPES = each_case("make", ARCHITECTURES.values(), ids=ARCHITECTURES.keys())


def with_weights(model: Any, weights: Mapping[str, Tensor]) -> Any:
    member = copy.deepcopy(model)
    for name, parameter in member.named_parameters():
        parameter.copy_(weights[name])
    return member


def ending(model: Any) -> Any:
    """Let every eighth token end an answer, so that answers of some members leave the batch before those of others."""
    model.generation_config.eos_token_id = list(range(0, 512, 8))
    return model


def alone(model: Any, stacked: Mapping[str, Tensor], tokenizer: Any, texts: list[str]) -> list[list[list[int]]]:
    members = (with_weights(model, {name: w[m] for name, w in stacked.items()}) for m in range(MEMBERS))
    return [[c.tokens for c in Decoder(member, tokenizer).greedy(texts, 20)] for member in members]


def together(model: Any, weights: Any, tokenizer: Any, texts: list[str]) -> list[list[list[int]]]:
    answers = Decoder(model, tokenizer).population(weights, texts, 20)
    return [[c.tokens for c in member] for member in answers]


def noise(model: Any) -> tuple[dict[str, tuple[Tensor, Tensor]], dict[str, Tensor], dict[str, Tensor]]:
    """(factors, vectors, the same weights written out)."""
    torch.manual_seed(3)
    factors, vectors, full = {}, {}, {}
    for name, w in model.named_parameters():
        if w.ndim == 1:
            vectors[name] = full[name] = w + SIGMA * torch.randn(MEMBERS, len(w))
        else:
            a, b = torch.randn(MEMBERS, w.shape[0], RANK) * SIGMA, torch.randn(MEMBERS, w.shape[1], RANK)
            factors[name], full[name] = (a, b), w + a @ b.transpose(1, 2)
    return factors, vectors, full


@SHAPES
def test_stacked_members_answer_as_each_alone(micro: Loaded, make: Any) -> None:
    model, texts = ending(make(micro.tokenizer)), prompts(12)
    _, _, full = noise(model)
    stacked = Stacked(dict(full), Decoder(model, micro.tokenizer).shape)
    expected = alone(model, full, micro.tokenizer, texts)
    assert together(model, stacked, micro.tokenizer, texts) == expected
    assert expected[0] != expected[1]
    assert len({len(answer) for member in expected for answer in member}) > 2, "no answer leaves the batch early"


@SHAPES
def test_stacked_members_take_no_more_memory_than_estimated(micro: Loaded, make: Any) -> None:
    model = make(micro.tokenizer)
    _, _, full = noise(model)
    shape = Decoder(model, micro.tokenizer).known_shape()
    of_model = {name: weight.numel() * weight.element_size() for name, weight in model.named_parameters()}
    stacked = Stacked(full, shape)
    parts = [*stacked._parameters.values(), *(part for pair in stacked._matrices.values() for part in pair)]
    storages = {
        part.untyped_storage().data_ptr(): part.untyped_storage().nbytes() for part in parts if part is not None
    }
    # While the last matrix is joined its parts are there as well, at most a layer's gate and up.
    fused = [(*over.weights, *over.biases) for over in shape.maps if len(over.parts) > 1]
    joined = max(sum(of_model.get(name, 0) for name in names) for names in fused)
    estimated = Stacked.bytes_of(of_model, shape)
    assert sum(storages.values()) <= MEMBERS * estimated <= sum(storages.values()) + MEMBERS * joined
    assert sum(of_model.values()) < estimated


@SHAPES
def test_low_rank_members_answer_as_the_same_weights_written_out(micro: Loaded, make: Any) -> None:
    model, texts = ending(make(micro.tokenizer)), prompts(12)
    factors, vectors, full = noise(model)
    weights = LowRank(dict(model.named_parameters()), Decoder(model, micro.tokenizer).shape, factors, vectors)
    assert together(model, weights, micro.tokenizer, texts) == alone(model, full, micro.tokenizer, texts)


def test_matrices_without_factors_use_model_weights(micro: Loaded) -> None:
    model, texts = qwen2(micro.tokenizer), prompts(12)
    factors, _, full = noise(model)
    some = {name: pair for name, pair in factors.items() if name.endswith(("v_proj.weight", "up_proj.weight"))}
    base = dict(model.named_parameters())
    full = {name: full[name] if name in some else base[name].expand(MEMBERS, *base[name].shape) for name in base}
    weights = LowRank(base, Decoder(model, micro.tokenizer).shape, some, {})
    assert together(model, weights, micro.tokenizer, texts) == alone(model, full, micro.tokenizer, texts)


def test_population_answers_are_independent_of_rows(micro: Loaded) -> None:
    model, texts = qwen2(micro.tokenizer), prompts(12)
    factors, vectors, _ = noise(model)
    decoder = Decoder(model, micro.tokenizer)
    weights = LowRank(dict(model.named_parameters()), decoder.shape, factors, vectors)
    at_once = decoder.population(weights, texts, 20)
    assert Decoder(model, micro.tokenizer, rows=2 * MEMBERS).population(weights, texts, 20) == at_once
