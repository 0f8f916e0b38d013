"""`ModelSizes` counts what the real tensors of a model hold."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any

import pytest
import torch

from tests.workers.memory_plan.sizes import (
    GEMMA2_2B,
    LLAMA3_8B,
    PUBLISHED,
    QWEN2_1_5B,
    QWEN2_7B,
    QWEN2_TINY,
    build_on_meta,
    sizes_of,
)
from workers.models import decoder
from workers.models.decoder import shape_of

EACH = pytest.mark.parametrize("config", PUBLISHED.values(), ids=PUBLISHED.keys())
MEMBERS, RANK = 3, 2


def load_gpu_weights() -> ModuleType:
    """Return `workers.models.decoder.gpu.weights`, whose package cannot be imported without Triton."""
    path = f"{decoder.__path__[0]}/gpu/weights.py"
    spec = importlib.util.spec_from_file_location("gpu_weights", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look up their module.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
    return module


def member_terms(config: dict[str, Any]) -> Any:
    """Return the buffers of MEMBERS members whose every matrix differs by factors of RANK, and every vector."""
    model, weights = build_on_meta(config), load_gpu_weights()
    shape = shape_of(model)
    parameters = dict(model.named_parameters())
    matrices = {name for name, tensor in parameters.items() if tensor.ndim == 2}
    joined = weights.JoinedWeights(parameters, shape)
    return weights.MemberTerms(joined, shape, MEMBERS, RANK, matrices, set(parameters) - matrices)


@EACH
def test_model_sizes_count_the_parameters_of_the_model(config: dict[str, Any]) -> None:
    model = build_on_meta(config)

    assert sizes_of(config).parameters == pytest.approx(sum(p.numel() for p in model.parameters()), rel=0.002)


@pytest.mark.parametrize("config", [QWEN2_TINY, QWEN2_1_5B, QWEN2_7B], ids=["tiny", "1.5b", "7b"])
def test_model_sizes_count_every_number_of_qwen2(config: dict[str, Any]) -> None:
    sizes, model = sizes_of(config), build_on_meta(config)

    assert sizes.parameters + sizes.vector_elements == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("config", [QWEN2_TINY, QWEN2_1_5B, QWEN2_7B, LLAMA3_8B], ids=["tiny", "1.5b", "7b", "llama"])
def test_model_sizes_count_the_factors_of_members(config: dict[str, Any]) -> None:
    terms = member_terms(config)
    # A tied head is one term of two maps.
    factors = {id(term): term.a.numel() + term.b.numel() for term in terms.maps.values()}

    assert sum(factors.values()) == MEMBERS * RANK * sizes_of(config).factor_elements


@pytest.mark.parametrize("config", [QWEN2_TINY, QWEN2_1_5B, QWEN2_7B], ids=["tiny", "1.5b", "7b"])
def test_model_sizes_count_the_vectors_of_members(config: dict[str, Any]) -> None:
    terms = member_terms(config)
    buffers = [*terms.vectors.values(), *terms.biases.values()]

    assert sum(tensor.numel() for tensor in buffers) == MEMBERS * sizes_of(config).vector_elements


def test_model_sizes_tie_the_head_of_gemma_when_the_file_leaves_it_out() -> None:
    assert sizes_of(GEMMA2_2B).is_tied
    assert not sizes_of(GEMMA2_2B | {"model_type": "llama"}).is_tied


def test_model_sizes_raise_key_error_when_a_size_is_missing() -> None:
    with pytest.raises(KeyError, match="intermediate_size"):
        sizes_of({key: value for key, value in QWEN2_TINY.items() if key != "intermediate_size"})


def test_number_bytes_follow_the_precision() -> None:
    assert sizes_of(QWEN2_TINY, torch.float32.itemsize).number_bytes == 4
