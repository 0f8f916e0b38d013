"""The master and the members of every rank, against the plain tensors of a model on one device."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.cases import each_case
from tests.workers.engines.es.vllm.toy_models import Ranks, perturbation_of, random_tensors, save_tensors
from workers.engines.es.anchor import anchor_distance, pull_to_anchor
from workers.engines.es.vllm.rank_weights import join_ranks
from workers.engines.es.vllm.tensor_files import open_tensors
from workers.engines.not_resumable import NotResumable

DIRECTIONS = {11: 0.5, -12: -0.25, 13: 0.125}
TYPES = (torch.float32, torch.bfloat16)
pytestmark = pytest.mark.parametrize("ranks", [1, 2, 4])


@pytest.fixture(autouse=True)
def _without_gradients() -> Iterator[None]:
    with torch.no_grad():
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_tensors(tmp_path / "model", random_tensors())


@each_case("on_host", [False, True])
@each_case("kind", ["full", "low_rank", "correlated"])
@each_case("dtype", TYPES)
def test_members_and_centre_equal_those_of_whole_tensors(
    folder: Path, ranks: int, dtype: torch.dtype, kind: str, on_host: bool
) -> None:
    perturbation = perturbation_of(kind)
    toy = Ranks(folder, ranks, dtype, perturbation, on_host=on_host)
    master = {name: tensor.to(dtype).float() for name, tensor in random_tensors().items()}
    assert toy.equal(master, dtype)
    for seed in (5, -6):
        for rank in toy.weights:
            rank.write_member(seed)
        member = {name: perturbation.member_tensors([seed], name, tensor)[0] for name, tensor in master.items()}
        assert toy.equal(member, dtype)
        assert not toy.equal(master, dtype)
    for rank in toy.weights:
        rank.write_centre()
    assert toy.equal(master, dtype)


@each_case("on_host", [False, True])
@each_case("kind", ["full", "low_rank"])
@each_case("dtype", TYPES)
def test_update_equals_that_of_whole_tensors(
    folder: Path, tmp_path: Path, ranks: int, dtype: torch.dtype, kind: str, on_host: bool
) -> None:
    perturbation = perturbation_of(kind)
    toy = Ranks(folder, ranks, dtype, perturbation, on_host=on_host)
    anchor = {name: tensor.to(dtype) for name, tensor in random_tensors().items()}
    master = {name: tensor.to(torch.float32, copy=True) for name, tensor in anchor.items()}
    for directions, decay in ((DIRECTIONS, 0.25), ({}, 0.25), (DIRECTIONS, 0.0)):
        norm = perturbation.step(directions, master)
        pull_to_anchor(master, anchor, decay)
        norms, distances = zip(*[rank.update(directions, decay) for rank in toy.weights], strict=True)
        assert math.hypot(*norms) == pytest.approx(norm, rel=1e-6)
        assert math.hypot(*distances) == pytest.approx(anchor_distance(master, anchor), rel=1e-6)
        assert toy.equal(master, dtype)
    assert_joined_equal(toy, tmp_path, master)


def assert_joined_equal(toy: Ranks, folder: Path, master: dict[str, torch.Tensor]) -> None:
    files = [folder / f"rank-{i}.safetensors" for i in range(len(toy.weights))]
    for rank, file in zip(toy.weights, files, strict=True):
        rank.save(file, torch.float32)
    join_ranks(toy.plans, files, torch.float32, folder / "joined.safetensors")
    joined = load_file(folder / "joined.safetensors")
    assert joined.keys() == master.keys()
    assert all(torch.equal(joined[name], tensor) for name, tensor in master.items())


def test_update_without_directions_or_decay_changes_no_bit(folder: Path, ranks: int) -> None:
    toy = Ranks(folder, ranks, torch.bfloat16, perturbation_of())
    before = [rank.hash() for rank in toy.weights]
    assert [rank.update({}, 0.0) for rank in toy.weights] == [(0.0, 0.0)] * ranks
    assert [rank.hash() for rank in toy.weights] == before


def test_norm_counts_a_replicated_tensor_once(folder: Path, ranks: int) -> None:
    """Key and value heads, and the norm's weights, are on more than one of four ranks."""
    whole = Ranks(folder, 1, torch.float32, perturbation_of())
    toy = Ranks(folder, ranks, torch.float32, perturbation_of())
    (norm, _) = whole.weights[0].update(DIRECTIONS, 0.0)
    assert math.hypot(*(rank.update(DIRECTIONS, 0.0)[0] for rank in toy.weights)) == pytest.approx(norm, rel=1e-6)


@pytest.mark.parametrize("on_host", [False, True])
def test_loading_a_master_restores_weights_and_keeps_the_anchor(
    folder: Path, tmp_path: Path, ranks: int, on_host: bool
) -> None:
    toy = Ranks(folder, ranks, torch.bfloat16, perturbation_of())
    for rank in toy.weights:
        rank.update(DIRECTIONS, 0.25)
    files = [tmp_path / f"rank-{i}.safetensors" for i in range(ranks)]
    for rank, file in zip(toy.weights, files, strict=True):
        rank.save(file, torch.float32)
    join_ranks(toy.plans, files, torch.float32, tmp_path / "master.safetensors")

    resumed = Ranks(folder, ranks, torch.bfloat16, perturbation_of(), on_host=on_host)
    with open_tensors([tmp_path / "master.safetensors"]) as master:
        for rank in resumed.weights:
            rank.load_master(master)
            rank.write_centre()
    assert [rank.hash() for rank in resumed.weights] == [rank.hash() for rank in toy.weights]
    for one, other in zip(resumed.weights, toy.weights, strict=True):
        assert one.update(DIRECTIONS, 0.25) == pytest.approx(other.update(DIRECTIONS, 0.25))
        assert one.hash() == other.hash()


def test_hash_depends_on_a_bit_of_the_master_and_of_a_parameter(folder: Path, ranks: int) -> None:
    toy = Ranks(folder, ranks, torch.float32, perturbation_of())
    rank, model = toy.weights[-1], toy.models[-1]
    hashes = {rank.hash()}
    next(iter(rank.master.values())).view(torch.int32).flatten()[0] ^= 1
    hashes.add(rank.hash())
    model.norm_weight.view(torch.int32)[3] ^= 1
    hashes.add(rank.hash())
    assert len(hashes) == 3


def test_checkpoint_without_a_tensor_or_a_file_is_refused(folder: Path, tmp_path: Path, ranks: int) -> None:
    toy = Ranks(folder, ranks, torch.float32, perturbation_of())
    tensors = random_tensors()
    del tensors["gate.weight"]
    torn = save_tensors(tmp_path / "torn", tensors)
    with open_tensors([torn / "model.safetensors"]) as files, pytest.raises(NotResumable, match=r"gate\.weight"):
        toy.weights[0].load_master(files)
    with pytest.raises(NotResumable, match=r"no model\.safetensors"), open_tensors([tmp_path / "model.safetensors"]):
        pass
