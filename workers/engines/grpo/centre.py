"""The trained weights as a plain model, in whatever form the trainer holds them."""

from __future__ import annotations

import copy
from typing import Any

import torch
from peft import PeftModel
from torch import nn

from workers.models import Loaded


class Centre:
    """Source of the trained weights as a plain Hugging Face model in the dtype of the base.

    It is the trained model itself if that is plain; otherwise a working copy, made before the trainer adds autocast and
    adapters to the model, into which the weights are copied each time, adapters added. The trained weights are never
    changed: merging an adapter and unmerging it again would round them.
    """

    def __init__(self, loaded: Loaded, *, lora: bool) -> None:
        needs_copy = lora or loaded.dtype != torch.float32
        self._working: nn.Module | None = copy.deepcopy(loaded.model) if needs_copy else None

    @torch.no_grad()
    def current(self, trained: nn.Module) -> nn.Module:
        """Return the centre of `trained`, valid until the next call."""
        if self._working is None:
            return trained
        source = trained.get_base_model() if isinstance(trained, PeftModel) else trained
        for name, parameter in self._working.named_parameters():
            parameter.copy_(_weight(source, name))
        return self._working


def _weight(model: nn.Module, name: str) -> torch.Tensor:
    """Return the parameter of that name, with its adapter added if it has one: W + (α/r) B A."""
    path, _, leaf = name.rpartition(".")
    module: Any = model.get_submodule(path)
    if not hasattr(module, "base_layer"):
        return module.get_parameter(leaf)  # type: ignore[no-any-return]
    weight: torch.Tensor = module.base_layer.get_parameter(leaf)
    return weight + module.get_delta_weight(module.active_adapters[0]) if leaf == "weight" else weight
