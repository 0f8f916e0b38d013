"""Weights from memory-mapped files: shapes, slices, the float32 master, and what cannot be compared."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from workers.probes.weights import WeightFiles, WeightsDiffer, open_pair


def save(folder: Path, **tensors: Tensor) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / "model.safetensors")
    return folder


def test_tensors_of_several_files_are_read_by_name(tmp_path: Path) -> None:
    matrix = torch.arange(12.0).view(4, 3).to(torch.bfloat16)
    save_file({"b": matrix}, tmp_path / "model-00001-of-00002.safetensors")
    save_file({"a": torch.ones(2)}, tmp_path / "model-00002-of-00002.safetensors")

    with WeightFiles(tmp_path) as weights:
        assert weights.shapes == {"a": (2,), "b": (4, 3)}
        assert list(weights.shapes) == ["a", "b"]
        assert weights.tensor("b").dtype == torch.float32
        assert torch.equal(weights.tensor("b"), matrix.float())
        assert torch.equal(weights.rows("b", 1, 3), matrix[1:3].float())


def test_the_float32_master_is_read_where_there_is_one(tmp_path: Path) -> None:
    exact = torch.tensor([1.0 + 2**-20])
    base = save(tmp_path / "base", w=torch.tensor([1.0], dtype=torch.bfloat16))
    tuned = save(tmp_path / "tuned", w=exact.to(torch.bfloat16))
    save(tuned / "master", w=exact)

    with open_pair(base, tuned) as (first, second, names):
        change = second.tensor(names[0]) - first.tensor(names[0])
    assert change.item() == 2**-20


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_what_was_read_may_be_changed(tmp_path: Path, dtype: torch.dtype) -> None:
    with WeightFiles(save(tmp_path, w=torch.ones(4, 2, dtype=dtype))) as weights:
        weights.tensor("w").zero_()
        weights.rows("w", 1, 3).zero_()
        assert torch.equal(weights.tensor("w"), torch.ones(4, 2))
        assert torch.equal(weights.rows("w", 0, 4), torch.ones(4, 2))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_rounding_of_the_base_is_no_change(tmp_path: Path, dtype: torch.dtype) -> None:
    weights = torch.randn(64, generator=torch.Generator().manual_seed(0))
    base, tuned = save(tmp_path / "base", w=weights), save(tmp_path / "tuned", w=weights.to(dtype))

    with open_pair(base, tuned) as (first, second, _):
        assert torch.equal(first.tensor("w"), second.tensor("w"))
        assert torch.equal(first.rows("w", 3, 5), second.rows("w", 3, 5))


def test_a_tied_head_may_be_saved_by_one_alone(tmp_path: Path) -> None:
    table = torch.ones(3, 2)
    base = save(tmp_path / "base", **{"model.embed_tokens.weight": table})
    tuned = save(tmp_path / "tuned", **{"model.embed_tokens.weight": table, "lm_head.weight": table.clone()})

    with open_pair(base, tuned) as (*_, names):
        assert names == ["model.embed_tokens.weight"]


def test_what_cannot_be_compared_is_named(tmp_path: Path) -> None:
    base = save(tmp_path / "base", w=torch.ones(3), v=torch.ones(1))
    other = save(tmp_path / "other", w=torch.ones(3))
    wide = save(tmp_path / "wide", w=torch.ones(4), v=torch.ones(1))
    (tmp_path / "empty").mkdir()

    with pytest.raises(WeightsDiffer, match="has the tensor v, and 1 in all"), open_pair(base, other):
        pass
    with pytest.raises(WeightsDiffer, match=r"w has the shape \(3,\) in .*base and \(4,\)"), open_pair(base, wide):
        pass
    with pytest.raises(WeightsDiffer, match="has no safetensors file"), open_pair(base, tmp_path / "empty"):
        pass
