"""How long a run will take: as long as past runs of the same size took here. Nobody has measured it otherwise."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Past:
    """A run that succeeded: what its steps cost, how many those were, and the seconds of all its attempts."""

    preset: str
    size: list[Any]
    steps: int
    seconds: float


class Estimator:
    """Estimates for one person. Past runs of a model, method and cluster are looked up once, however often it is
    asked."""

    def __init__(self, person: User) -> None:
        self._person = person
        self._known: dict[tuple[str, str, str], list[Past]] = {}

    def estimate(self, config: RunConfig, preset: str = "") -> Estimate | None:
        """From runs that this person may see and that succeeded; each scaled to this number of steps. None without."""
        wanted = config.to_json()
        size, steps = _size(wanted), _steps(wanted)
        alike = [past for past in self._past(config) if past.size == size and past.steps]
        if not alike:
            return None
        # Those of the preset alone, where there are any: they differ least.
        alike = [past for past in alike if preset and past.preset == preset] or alike
        seconds = [past.seconds * steps / past.steps for past in alike]
        of_preset = sum(bool(preset) and past.preset == preset for past in alike)
        is_scaled = any(past.steps != steps for past in alike)
        return Estimate(statistics.median(seconds), min(seconds), max(seconds), len(alike), of_preset, is_scaled)

    def _past(self, config: RunConfig) -> list[Past]:
        where = (config.model.path, config.compute.cluster, config.method)
        if where not in self._known:
            self._known[where] = _past(self._person, *where)
        return self._known[where]


def _past(person: User, model: str, cluster: str, method: str) -> list[Past]:
    """The newest first. One query."""
    alike = {"config__model__path": model, "config__compute__cluster": cluster}
    runs = Run.objects.visible_to(person).filter(state=State.SUCCEEDED, method=method, **alike)
    timed = runs.annotate(took=Sum(F("attempts__ended_at") - F("attempts__started_at"))).order_by("-pk")
    rows = timed.values_list("preset", "config", "took")[:LOOKED_AT]
    return [Past(p, _size(c), _steps(c), took.total_seconds()) for p, c, took in rows if took]


def _size(config: Mapping[str, Any]) -> list[Any]:
    return [(config.get(section) or {}).get(key) for section, keys in SIZES.items() for key in keys]


def _steps(config: Mapping[str, Any]) -> int:
    method = config.get("method", "")
    return int((config.get(method) or {}).get(STEPS.get(method, ""), 0))
