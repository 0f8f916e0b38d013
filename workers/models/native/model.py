"""`NativeModel` is a language model of any architecture that the decoder knows, without transformers' modelling code.

That code takes 3 s of a core to import. Parameters have transformers' names and order, logits equal those of
transformers to the bit, and transformers loads the folders that this model saves.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import AutoConfig, GenerationConfig

from workers.models.decoder.shape import read_shape, unknown_reason
from workers.models.native.layers import Body
from workers.models.native.rotary import RotaryEmbedding

VALIDATORS, ACTIVATIONS = "transformers.utils.type_validators", "transformers.activations"


@dataclass(frozen=True)
class Output:
    """Output of the model. `logits` has the shape [rows, last tokens, vocabulary]."""

    logits: Tensor


class NativeModel(nn.Module):
    """`biased` names the linear layers that have a bias. Call `load_state_dict` for the weights, and `tie` after it."""

    def __init__(
        self, config: Any, generation_config: GenerationConfig, rotary: RotaryEmbedding, biased: frozenset[str]
    ) -> None:
        super().__init__()
        shape = read_shape(config, is_tied=config.tie_word_embeddings)
        self.config = config
        self.generation_config = generation_config
        self.model = Body(config, shape, rotary, biased)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias="lm_head" in biased)
        self._logit_softcap = shape.logit_softcap
        self.tie()

    def tie(self) -> None:
        """Make head and embedding one parameter if the config says so."""
        if self.config.tie_word_embeddings:
            self.lm_head.weight = self.model.embed_tokens.weight

    @property
    def device(self) -> torch.device:
        """Return the device that holds the weights."""
        return self.lm_head.weight.device

    def forward(self, input_ids: Tensor, logits_to_keep: int = 0, *, use_cache: bool = False) -> Output:
        """Return the logits of the last `logits_to_keep` tokens of `input_ids` [rows, tokens]; those of all tokens if
        it is 0.

        There is no cache: `use_cache` is accepted because callers also hold models of transformers.
        """
        logits = self.lm_head(self.model(input_ids)[:, -logits_to_keep:])
        if self._logit_softcap is not None:
            logits = torch.tanh(logits / self._logit_softcap) * self._logit_softcap
        return Output(logits)

    def save_pretrained(self, folder: Path) -> None:
        """Write config.json, generation_config.json and the weights, a tied head once."""
        self.config.save_pretrained(folder)
        self.generation_config.save_pretrained(folder)
        tensors = {name: parameter.detach() for name, parameter in self.named_parameters()}
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def load_native(folder: Path, dtype: torch.dtype) -> NativeModel | None:
    """Load a checkpoint folder onto the CPU; return None where only transformers can load it.

    Such a checkpoint has another architecture, or tensors that are quantised or named in another way. Raise
    ValueError for a type of model that transformers does not know either.
    """
    _import_validators()
    config = AutoConfig.from_pretrained(folder)
    if unknown_reason(config) is not None:
        return None
    tensors: dict[str, Tensor] = {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors |= load_file(file)
    config.dtype = dtype
    cast = {name: tensor.to(dtype) for name, tensor in tensors.items()}
    return build_native(config, _generation_config(folder, config), cast)


def build_native(config: Any, generation_config: GenerationConfig, tensors: Mapping[str, Tensor]) -> NativeModel | None:
    """Return a model that holds these tensors, by canonical name and uncopied; None if the config describes others."""
    biased = frozenset(name.removesuffix(".bias") for name in tensors if name.endswith(".bias"))
    rotary = RotaryEmbedding(config)
    with torch.device("meta"):
        model = NativeModel(config, generation_config, rotary, biased)
    if _shapes(dict(model.named_parameters())) != _shapes(tensors):
        return None
    # Not strict, since a tied head is not among them.
    model.load_state_dict(dict(tensors), strict=False, assign=True)
    model.tie()
    return model


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in tensors.items()}


def _generation_config(folder: Path, config: Any) -> GenerationConfig:
    if (folder / "generation_config.json").is_file():
        return GenerationConfig.from_pretrained(folder)
    return GenerationConfig.from_model_config(config)


def _import_validators() -> None:
    """Import the validators of transformers' configs without the activation functions whose names they compare.

    Those import the kernels' hub, accelerate, torch's compiler and its sharding: 3 to 6 s of a core for names that
    `unknown_reason` compares anyway. Where transformers sees no torch, its validators do without them, too.
    """
    if ACTIVATIONS in sys.modules or VALIDATORS in sys.modules or find_spec(VALIDATORS) is None:
        return
    without_names = ModuleType(ACTIVATIONS)
    without_names.ACT2FN = {}  # type: ignore[attr-defined]
    sys.modules[ACTIVATIONS] = without_names
    try:
        import_module(VALIDATORS)
    finally:
        del sys.modules[ACTIVATIONS]
