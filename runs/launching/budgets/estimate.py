"""Estimate the duration of a run from past runs of the same size on this site. There is no other measurement."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import F, Sum

from runs.kinds import LAUNCHED
from runs.launching.budgets.hours import planned_share
from runs.models import Run
from workers.config import RunConfig
from workers.config.methods import method_of
from workers.config.run import ComputeConfig
from workers.executors.states import State

MAX_PAST_RUNS = 200
"""Number of the newest runs of the model, method and cluster that are searched for runs of the same size."""
SIZES = {
    "model": ("dtype", "device"),
    "task": ("name",),
    "es": ("population", "prompts", "max_new_tokens", "noise", "backend", "lora"),
    "grpo": ("num_generations", "per_device_train_batch_size", "gradient_accumulation_steps", "max_completion_length",
             "num_iterations", "lora"),
    "evaluation": ("every", "prompts", "samples", "max_new_tokens"),
    "compute": ("nodes", "cores", "gpus", "gpu_type"),
}  # fmt: skip
"""Section -> settings that determine the cost of a step; the number of steps is separate."""
DEFAULTS = {"compute": asdict(ComputeConfig())}
"""Section -> values of settings that configs of earlier versions lack."""


@dataclass(frozen=True)
class Estimate:
    """Estimated seconds after the start: median and range of past runs, and the number of these runs.

    `gpu_share` is the largest share of a GPU that was planned for one of them; None if none was.
    """

    median: float
    low: float
    high: float
    runs: int
    of_preset: int
    is_scaled: bool
    gpu_share: float | None = None


@dataclass(frozen=True)
class PastRun:
    """A run that succeeded: settings that determine its cost per step, its steps, the seconds of all attempts, and the
    share of a GPU that was planned for the last one."""

    preset: str
    size: list[Any]
    steps: int
    seconds: float
    gpu_share: float | None = None


class Estimator:
    """Estimates for one user. Past runs of a model, method and cluster are looked up once, for all calls."""

    def __init__(self, person: User) -> None:
        self._person = person
        self._past_runs: dict[tuple[str, str, str], list[PastRun]] = {}

    def estimate(self, config: RunConfig, preset: str = "") -> Estimate | None:
        """Return an estimate from visible succeeded runs, each scaled to this number of steps; None without any."""
        past_runs = self._past(config)
        if not past_runs:
            return None
        config_json = config.to_json()
        size, steps = _size(config_json), _steps(config_json)
        alike = [past for past in past_runs if past.size == size and past.steps]
        if not alike:
            return None
        # Runs of the same preset are used alone if there are any, because they differ least.
        alike = [past for past in alike if preset and past.preset == preset] or alike
        seconds = [past.seconds * steps / past.steps for past in alike]
        of_preset = sum(bool(preset) and past.preset == preset for past in alike)
        is_scaled = any(past.steps != steps for past in alike)
        share = max((past.gpu_share for past in alike if past.gpu_share is not None), default=None)
        return Estimate(
            statistics.median(seconds), min(seconds), max(seconds), len(alike), of_preset, is_scaled, share
        )  # fmt: skip

    def _past(self, config: RunConfig) -> list[PastRun]:
        lookup = (config.model.path, config.compute.cluster, config.method)
        if lookup not in self._past_runs:
            self._past_runs[lookup] = _past(self._person, *lookup)
        return self._past_runs[lookup]


def _past(person: User, model: str, cluster: str, method: str) -> list[PastRun]:
    """The newest first, of the runs of this site: others may have configs of any form. One query."""
    alike = {"config__model__path": model, "config__compute__cluster": cluster}
    runs = Run.objects.visible_to(person).filter(state=State.SUCCEEDED, method=method, **alike, **LAUNCHED.filters)
    timed = runs.annotate(took=Sum(F("attempts__ended_at") - F("attempts__started_at"))).order_by("-pk")
    rows = timed.annotate(share=planned_share()).values_list("preset", "config", "took", "share")[:MAX_PAST_RUNS]
    return [PastRun(p, _size(c), _steps(c), took.total_seconds(), share) for p, c, took, share in rows if took]


def _size(config: Mapping[str, Any]) -> list[Any]:
    sections = {section: DEFAULTS.get(section, {}) | (config.get(section) or {}) for section in SIZES}
    return [sections[section].get(key) for section, keys in SIZES.items() for key in keys]


def _steps(config: Mapping[str, Any]) -> int:
    method = config.get("method", "")
    return int((config.get(method) or {}).get(method_of(method).steps, 0))
