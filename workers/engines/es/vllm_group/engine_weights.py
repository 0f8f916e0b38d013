"""The run's weights as the training process uses them, where only engines hold them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open
from torch import Tensor, nn

from workers.engines.context import Context
from workers.engines.es.vllm_group.first_logits import check_first_logits, check_prompts, next_logits
from workers.engines.es.vllm_group.group import VllmGroup
from workers.models import Loaded

WEIGHTS = "model.safetensors"


class EngineWeights:
    """The centre of a group of engines. `model` is None unless the KL is measured.

    `folder` is where an engine puts the weights that the model here is to read.
    """

    def __init__(self, group: VllmGroup, loaded: Loaded, folder: Path, context_tokens: int, *, with_kl: bool) -> None:
        self._group, self._loaded, self._folder = group, loaded, folder
        self._context_tokens, self._with_kl = context_tokens, with_kl
        self._step = -1

    @property
    def decoder(self) -> VllmGroup:
        """Return what answers evaluations."""
        return self._group

    @property
    def model(self) -> Any:
        """Return the model of transformers with the weights of the centre; None if the KL is not measured."""
        if not self._with_kl:
            return None
        step, _ = self._group.logged
        if step != self._step:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir(parents=True)
            try:
                self._group.save(self._folder, "weights")
                read_weights(self._loaded.model, self._folder)
            finally:
                shutil.rmtree(self._folder, ignore_errors=True)
            self._step = step
        return self._loaded.model

    def check(self, context: Context) -> None:
        """Compare the logits of an engine with those of transformers for the same weights. Raise ConfigError."""
        model = self._loaded.model
        prompts = check_prompts(int(model.config.vocab_size), self._context_tokens)
        if context.resume is not None:
            read_weights(model, context.resume)
        difference = check_first_logits(self._group.scores(prompts), next_logits(model, prompts), self._loaded.dtype)
        print(f"vLLM's logits differ from those of transformers by {difference:.1e} of their spread", flush=True)

    @property
    def checkpoint_model(self) -> EngineWeights:
        """Return what writes the weights of a checkpoint."""
        return self

    def save_pretrained(self, folder: Path) -> None:
        """Write the weights and the config into a folder that exists, as a model of transformers does."""
        model = self._loaded.model
        model.config.save_pretrained(folder)
        if getattr(model, "generation_config", None) is not None:
            model.generation_config.save_pretrained(folder)
        self._group.save(folder, "weights")

    def save(self, folder: Path) -> None:
        """Add the master to a checkpoint's folder, if the folder's own weights are not the master."""
        self._group.save(folder, "master")

    def anchor_distance(self) -> float | None:
        """Return ‖θ − θ₀‖ after the last update, or None if θ₀ is not held."""
        return self._group.anchor_distance

    def restore_centre(self) -> None:
        """Do nothing: engines write the centre back themselves."""


def read_weights(model: nn.Module, folder: Path) -> None:
    """Copy the tensors of a folder's files into the parameters of these names, cast to their type.

    Raise ValueError if a parameter is missing there.
    """
    parameters: Mapping[str, Tensor] = dict(model.named_parameters())
    missing = set(parameters)
    for file in sorted(folder.glob("*.safetensors")):
        with safe_open(file, framework="pt") as tensors:
            for name in missing.intersection(tensors.keys()):
                parameters[name].copy_(tensors.get_tensor(name))
                missing.discard(name)
    if missing:
        raise ValueError(f"{folder} lacks {len(missing)} tensors, {min(missing)} among them")
