"""Checkpoints of the micro model with changed weights, and the model with the prompts of a probe."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from workers import tasks
from workers.config import RunConfig
from workers.models import Loaded, resolve, save
from workers.probes.behaviour import PromptedModel
from workers.probes.weights import Subject
from workers.tasks import Task

PROMPTS, TOKENS = 6, 10


def never_stops() -> None:
    """Check for a stop that is never requested."""


def config_of(task: str = "conciseness", dtype: str = "float32", **evaluation: Any) -> RunConfig:
    """Return the config of a probe run on the CPU."""
    plan = {"prompts": PROMPTS, "max_new_tokens": TOKENS} | evaluation
    model = {"path": "micro", "device": "cpu", "dtype": dtype}
    data = {"method": "probe", "model": model, "probe": {}, "task": {"name": task}, "evaluation": plan}
    return RunConfig.from_json(data)


def prompted(folder: Path, config: RunConfig | None = None, task: Task | None = None) -> PromptedModel:
    config = config or config_of()
    return PromptedModel.open(folder, config, task or tasks.make(config.task))


def changed(
    micro: Loaded, folder: Path, change: Callable[[str, Tensor], Tensor], dtype: torch.dtype | None = None
) -> Path:
    """Save the micro model with changed weights. In 16 bits, as an ES run does, with their float32 master."""
    model = copy.deepcopy(micro.model)
    master = {name: change(name, p.detach().clone()) for name, p in model.named_parameters()}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(master[name])
    save(model.to(dtype or torch.float32), micro.tokenizer, folder)
    if dtype:
        (folder / "master").mkdir()
        save_file(master, folder / "master" / "model.safetensors")
    return folder


def with_noise(micro: Loaded, folder: Path, size: float, seed: int = 1, dtype: torch.dtype | None = None) -> Path:
    """Save the micro model with Gaussian noise of this standard deviation in every tensor."""
    generator = torch.Generator().manual_seed(seed)
    return changed(micro, folder, lambda _, p: p + size * torch.randn(p.shape, generator=generator), dtype)


def weights(folder: Path) -> dict[str, Tensor]:
    return load_file(folder / "model.safetensors")


def subject_of(tuned: Path, step: int = 5, **fields: Any) -> Subject:
    return Subject("run", step, tuned, fields.pop("base", resolve("micro")), "es", **fields)
