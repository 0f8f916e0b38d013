"""The trained weights as a plain model, in whatever form the trainer holds them, and the reference of the KL.

A GPU holds each only while it is needed: the training state of a model is eight times its 16-bit weights. Those of a
model that is small beside its GPU stay there, with the steps that were captured on them (`centre_stays`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from peft import PeftModel
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor

from workers.engines.grpo.process_group import ProcessGroup
from workers.evaluation import Evaluator
from workers.models import Loaded
from workers.models.decoder import Decoder, evaluating_decoder

HOST = torch.device("cpu")


class Centre:
    """Source of the trained weights as a plain Hugging Face model in the dtype of the base.

    It is the trained model itself if that is plain; otherwise a working copy of the base model, into which the weights
    are copied, adapters added. The trained weights are never changed: merging an adapter and unmerging it again would
    round them. Outside of evaluations there is no working copy, and the evaluator's reference of the KL is in the
    machine's memory, unless the training needs it too (`reference_is_shared`), or `stays` leaves both on the device.

    With several processes, all call the methods, and the first one gets the model.
    """

    def __init__(
        self,
        loaded: Loaded,
        evaluator: Evaluator,
        processes: ProcessGroup,
        *,
        needs_copy: bool,
        reference_is_shared: bool = False,
        stays: bool = False,
    ) -> None:
        self._device, self._evaluator, self._processes = loaded.device, evaluator, processes
        self._tokenizer, self._stays = loaded.tokenizer, stays
        self._copy: nn.Module | None = None
        self._decoder: Decoder | None = None
        self.dtype = loaded.dtype
        """Precision of the weights that `evaluated` provides."""
        self._needs_copy, self._is_shared = needs_copy, reference_is_shared

    @contextmanager
    def evaluated(self, trained: nn.Module) -> Iterator[nn.Module | None]:
        """Provide the centre of `trained` and the reference, on the device. None in the other processes."""
        is_first = self._processes.is_first
        if is_first:
            self._evaluator.to(self._device)
        _split(trained)
        model: nn.Module | None = None
        try:
            if self._needs_copy:
                model = (self._copy or self._evaluator.base_copy(self._device)) if is_first else None
                _copy_weights(trained, model)
                yield model
            else:
                yield trained if is_first else None
        finally:
            if self._stays:
                self._copy = model
            else:
                self._decoder = None
            del model
            self.release()

    def decoder(self, model: nn.Module | None) -> Decoder | None:
        """Return what answers evaluations with a model that `evaluated` provides."""
        if model is not None and (self._decoder is None or self._decoder.model is not model):
            self._decoder = evaluating_decoder(model, self._tokenizer)
        return None if model is None else self._decoder

    def release(self) -> None:
        """Move the reference of the KL to the machine's memory, unless the device has it between evaluations."""
        if not (self._is_shared or self._stays):
            self._evaluator.to(HOST)

    def master(self, trained: nn.Module) -> nn.Module | None:
        """Return the float32 weights as a plain model, in the machine's memory if the trainer has split them. None in
        the other processes."""
        _split(trained)
        if not any(isinstance(parameter, DTensor) for parameter in trained.parameters()):
            return trained if self._processes.is_first else None
        model = self._evaluator.base_copy(HOST).float() if self._processes.is_first else None
        _copy_weights(trained, model)
        return model


def _split(model: nn.Module) -> None:
    """Split the weights over the processes again, if a pass that was cut short has left them gathered and rounded."""
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.reshard()


@torch.no_grad()
def _copy_weights(trained: nn.Module, target: nn.Module | None) -> None:
    """Copy all weights of `trained` into a plain model. All processes take part, one weight after another."""
    source = trained.get_base_model() if isinstance(trained, PeftModel) else trained
    for name in [name for name, _ in _plain_parameters(source)]:
        weight = _weight(source, name)
        if target is not None:
            target.get_parameter(name).copy_(weight)


def _plain_parameters(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    """Yield the parameters by their names in a model without adapters."""
    for name, parameter in model.named_parameters():
        if "lora_" not in name:
            yield name.replace(".base_layer.", "."), parameter


def _weight(model: nn.Module, name: str) -> torch.Tensor:
    """Return the parameter of that name, with its adapter added if it has one: W + (α/r) B A."""
    path, _, leaf = name.rpartition(".")
    module: Any = model.get_submodule(path)
    if not hasattr(module, "base_layer"):
        weight: torch.Tensor = module.get_parameter(leaf)
        return weight.full_tensor() if isinstance(weight, DTensor) else weight
    weight = module.base_layer.get_parameter(leaf)
    return weight + module.get_delta_weight(module.active_adapters[0]) if leaf == "weight" else weight
