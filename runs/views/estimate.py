"""How long a run will take: as long as past runs of the same size took here. Nobody has measured it otherwise."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F, Sum

from runs.models import Run
from workers.config import RunConfig
from workers.executors.states import State

LOOKED_AT = 200
"""Newest runs of the model, the method and the cluster among which those of the same size are looked for."""
SIZES = {
    "model": ("dtype", "device"),
    "task": ("name",),
    "es": ("population", "prompts", "max_new_tokens", "noise", "backend", "lora"),
    "grpo": ("num_generations", "per_device_train_batch_size", "gradient_accumulation_steps", "max_completion_length",
             "num_iterations", "lora"),
    "evaluation": ("every", "prompts", "samples", "max_new_tokens"),
    "compute": ("cores", "gpus"),
}  # fmt: skip
"""What a step costs, by section; the number of steps apart."""
STEPS = {"es": "iterations", "grpo": "max_steps"}


@dataclass(frozen=True)
class Estimate:
    """Seconds once it has started: the median of past runs and their range, and how many those are."""

    median: float
    low: float
    high: float
    runs: int
    of_preset: int
    is_scaled: bool


def estimate(person: User, config: RunConfig, preset: str) -> Estimate | None:
    """From runs that this person may see and that succeeded; each scaled to this number of steps. None without any."""
    wanted = config.to_json()
    size, steps = _size(wanted), _steps(wanted)
    alike = [(p, took, _steps(c)) for p, c, took in _past(person, config) if _size(c) == size and _steps(c)]
    if not alike:
        return None
    # Those of the preset alone, where there are any: they differ least.
    alike = [one for one in alike if preset and one[0] == preset] or alike
    seconds = [took.total_seconds() * steps / past_steps for _, took, past_steps in alike]
    of_preset = sum(bool(preset) and p == preset for p, _, _ in alike)
    is_scaled = any(past_steps != steps for _, _, past_steps in alike)
    return Estimate(statistics.median(seconds), min(seconds), max(seconds), len(alike), of_preset, is_scaled)


def _past(person: User, config: RunConfig) -> list[tuple[str, dict[str, Any], timedelta]]:
    """(preset, config, time of all attempts), the newest first. One query."""
    alike = {"config__model__path": config.model.path, "config__compute__cluster": config.compute.cluster}
    runs = Run.objects.visible_to(person).filter(state=State.SUCCEEDED, method=config.method, **alike)
    timed = runs.annotate(took=Sum(F("attempts__ended_at") - F("attempts__started_at"))).order_by("-pk")
    return [(p, config, took) for p, config, took in timed.values_list("preset", "config", "took")[:LOOKED_AT] if took]


def _size(config: Mapping[str, Any]) -> list[Any]:
    return [(config.get(section) or {}).get(key) for section, keys in SIZES.items() for key in keys]


def _steps(config: Mapping[str, Any]) -> int:
    method = config.get("method", "")
    return int((config.get(method) or {}).get(STEPS.get(method, ""), 0))
