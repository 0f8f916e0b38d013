"""The hash of weights: equal for equal bits, another for any single bit that is flipped."""

from __future__ import annotations

import random

import pytest
import torch

from workers.engines.es import weights_hash
from workers.engines.es.weights_hash import hash_tensors

BITS = {torch.float32: torch.int32, torch.bfloat16: torch.int16, torch.float16: torch.int16}


@pytest.mark.parametrize("dtype", BITS)
def test_any_flipped_bit_changes_weights_hash(dtype: torch.dtype) -> None:
    tensors = {"a": torch.randn(37, 11).to(dtype), "b": torch.randn(5).to(dtype)}
    before, draw = hash_tensors(tensors), random.Random(0)
    for _ in range(300):
        name = draw.choice("ab")
        bits = tensors[name].view(BITS[dtype]).flatten()
        index, bit = draw.randrange(len(bits)), draw.randrange(bits.element_size() * 8)
        flip = torch.tensor(1 << bit if bit < bits.element_size() * 8 - 1 else -(1 << bit), dtype=bits.dtype)
        bits[index] ^= flip
        assert hash_tensors(tensors) != before, (name, index, bit)
        bits[index] ^= flip
    assert hash_tensors(tensors) == before


def test_weights_hash_ignores_pieces_and_order_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = torch.randn(1000), torch.randn(10, 10)
    whole = hash_tensors({"a": a, "b": b})
    monkeypatch.setattr(weights_hash, "ELEMENTS_PER_PIECE", 7)
    assert hash_tensors({"b": b, "a": a}) == whole


def test_weights_hash_covers_names_shapes_signs_and_positions() -> None:
    a = torch.randn(6)
    swapped = a[[1, 0, 2, 3, 4, 5]]
    zero = torch.zeros(6)
    variants = [{"a": a}, {"b": a}, {"a": a.view(2, 3)}, {"a": swapped}, {"a": zero}, {"a": -zero}]
    assert len({hash_tensors(tensors) for tensors in variants}) == len(variants)
