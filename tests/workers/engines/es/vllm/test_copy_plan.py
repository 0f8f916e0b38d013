"""The plan of a model's own loader, and the loaders that no plan describes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.cases import each_case
from tests.workers.engines.es.vllm.toy_models import (
    NAMES,
    SHAPES,
    TIED,
    VOCABULARY,
    Ranks,
    ToyModel,
    perturbation_of,
    random_tensors,
    save_tensors,
)
from workers.config import ConfigError
from workers.engines.es.vllm.copy_plan import CopyPlan, UntrainableModel, check_ranks
from workers.engines.es.vllm.copy_recorder import record_plan


class ChangedLoader(ToyModel):
    """A toy model whose loader treats one tensor in another way."""

    def __init__(self, name: str, change: Callable[[ToyModel, Tensor], None]) -> None:
        super().__init__()
        self._name, self._change = name, change

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        for name, tensor in weights:
            if name == self._name:
                self._change(self, tensor)
            else:
                super().load_weights([(name, tensor)])


def plan_of(model: ToyModel, shapes: dict[str, tuple[int, ...]] = SHAPES, names: tuple[str, ...] = NAMES) -> CopyPlan:
    plan = record_plan(model, shapes, names, torch.float32)
    check_ranks([plan])
    return plan


def test_recording_leaves_the_parameters_as_they_are() -> None:
    model = ToyModel()
    plan_of(model)
    assert all(bool((parameter == 7.0).all()) for parameter in model.parameters())


def test_padding_of_the_vocabulary_becomes_zero(tmp_path: Path) -> None:
    folder = save_tensors(tmp_path, random_tensors())
    (model,) = Ranks(folder, 1, torch.float32, perturbation_of()).models
    assert bool((model.embed_weight[VOCABULARY:] == 0).all())
    assert bool((model.embed_weight[:VOCABULARY] != 0).any())


def test_tied_head_in_the_files_is_skipped_as_the_loader_skips_it() -> None:
    plan = plan_of(ToyModel(), SHAPES | {TIED: SHAPES["embed.weight"]})
    assert TIED not in plan.shapes
    assert plan == plan_of(ToyModel())


@pytest.mark.parametrize(
    "copies",
    [
        lambda model, tensor: model.norm_weight.data.copy_(tensor.clone()),
        lambda model, tensor: model.norm_weight.data.copy_(tensor.to(torch.bfloat16)),
        lambda model, tensor: model.norm_weight.data.copy_(tensor.view(2, -1).t().contiguous().t().reshape(-1)),
        lambda model, tensor: [model.norm_weight.data[i : i + 2].copy_(tensor[i : i + 2]) for i in range(0, 8, 2)],
    ],
    ids=["clone", "cast", "contiguous", "parts"],
)
def test_copies_of_a_tensor_are_followed(copies: Callable[[ToyModel, Tensor], None]) -> None:
    model = ChangedLoader("norm.weight", copies)
    values = torch.arange(8.0)
    for piece in plan_of(model).pieces["norm.weight"]:
        piece.target.of(model.norm_weight.data).copy_(piece.source.of(values))
    assert torch.equal(model.norm_weight.data, values)


@each_case(
    "change",
    [
        lambda model, tensor: model.norm_weight.data.copy_(tensor + 1),
        lambda model, tensor: model.norm_weight.data.copy_(torch.cat([tensor[4:], tensor[:4]])),
        lambda model, tensor: model.norm_weight.data.copy_(torch.empty(8).copy_(tensor)),
        lambda model, tensor: model.norm_weight.data.copy_(tensor[:1].expand(8)),
        lambda model, tensor: model.norm_weight.data.copy_(tensor[0]),
        lambda model, tensor: model.norm_weight.data.fill_(tensor[0].item()),
        lambda model, tensor: model.norm_weight.data.fill_(1.0),
        lambda model, tensor: model.norm_weight.data.add_(tensor),
        lambda model, tensor: model.norm_weight.data.copy_(tensor.mul_(2)),
        lambda model, tensor: model.norm_weight.data.index_copy_(0, torch.arange(8), tensor),
    ],
    ids=["sum", "join", "buffer", "expand", "broadcast", "item", "fill", "add in place", "in place", "index"],
)
def test_transformed_tensor_is_refused_by_name(change: Callable[[ToyModel, Tensor], None]) -> None:
    with pytest.raises(
        UntrainableModel, match=r"^es\.backend: .*norm\.weight is changed .*native or transformers"
    ) as e:
        plan_of(ChangedLoader("norm.weight", change))
    assert isinstance(e.value, ConfigError)


def test_name_that_the_loader_does_not_know_is_refused() -> None:
    with pytest.raises(UntrainableModel, match=r"extra\.weight is refused by vLLM's loader \(AttributeError"):
        plan_of(ToyModel(), SHAPES | {"extra.weight": (8,)}, (*NAMES, "extra.weight"))


def test_tensor_of_another_shape_is_refused() -> None:
    with pytest.raises(UntrainableModel, match=r"norm\.weight is"):
        plan_of(ToyModel(), SHAPES | {"norm.weight": (1,)})


def test_tensor_that_the_loader_skips_is_refused() -> None:
    with pytest.raises(UntrainableModel, match=r"norm\.weight is not loaded by vLLM"):
        plan_of(ChangedLoader("norm.weight", lambda model, tensor: None))


def test_trained_tensor_that_the_files_lack_is_refused() -> None:
    shapes = {name: shape for name, shape in SHAPES.items() if name != "up.weight"}
    with pytest.raises(UntrainableModel, match=r"up\.weight is not in the model's files"):
        plan_of(ToyModel(), shapes)


def test_tensor_of_the_files_that_is_not_trained_is_refused() -> None:
    names = tuple(name for name in NAMES if name != "up.weight")
    with pytest.raises(UntrainableModel, match=r"up\.weight is loaded by vLLM, and is no parameter"):
        plan_of(ToyModel(), names=names)


def test_parameter_that_no_tensor_fills_is_refused() -> None:
    model = ToyModel()
    model.scale = torch.nn.Parameter(torch.ones(3), requires_grad=False)
    with pytest.raises(UntrainableModel, match=r"parameter scale is not filled"):
        plan_of(model)


def test_parameter_that_is_filled_in_part_is_refused() -> None:
    half = ChangedLoader("norm.weight", lambda model, tensor: model.norm_weight.data[:4].copy_(tensor[:4]))
    with pytest.raises(UntrainableModel, match=r"parameter norm_weight is not filled"):
        plan_of(half)


def test_tensor_that_is_stored_in_part_is_refused() -> None:
    """The other half of the parameter is padding, so that only the tensor itself is incomplete."""

    def load_half(model: ToyModel, tensor: Tensor) -> None:
        model.norm_weight.data[:4].copy_(tensor[:4])
        model.norm_weight.data[4:].fill_(0)

    with pytest.raises(UntrainableModel, match=r"tensor norm\.weight is not stored by vLLM once and in full"):
        plan_of(ChangedLoader("norm.weight", load_half))


def test_tensor_that_is_stored_twice_is_refused() -> None:
    def load_twice(model: ToyModel, tensor: Tensor) -> None:
        model.norm_weight.data.copy_(tensor)
        model.copy.data.copy_(tensor)

    model = ChangedLoader("norm.weight", load_twice)
    model.copy = torch.nn.Parameter(torch.ones(8), requires_grad=False)
    with pytest.raises(UntrainableModel, match=r"norm\.weight is stored twice"):
        plan_of(model)


def test_parameter_that_two_tensors_write_is_refused() -> None:
    model = ChangedLoader("k.bias", lambda model, tensor: model.qkv_bias.data[:4].copy_(tensor))
    with pytest.raises(UntrainableModel, match=r"parameter qkv_bias is written by more than one tensor"):
        plan_of(model)


def test_a_missing_rank_is_noticed() -> None:
    plans = [record_plan(ToyModel(rank, 4), SHAPES, NAMES, torch.float32) for rank in range(4)]
    check_ranks(plans)
    with pytest.raises(UntrainableModel, match=r"embed\.weight is not stored by vLLM once and in full"):
        check_ranks(plans[1:])


def test_region_of_a_whole_tensor_is_dense() -> None:
    plan = plan_of(ToyModel())
    assert plan.pieces["q.weight"][0].source.is_dense()
    assert not record_plan(ToyModel(0, 2), SHAPES, NAMES, torch.float32).pieces["down.weight"][0].source.is_dense()
