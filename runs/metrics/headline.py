"""Headline metrics of a task: those that home, tables and the page of a run show first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from runs.kinds import kind_of
from runs.metrics.catalogue import EVERY_TASK, METRICS, Metric, metric_of
from runs.models import Run
from runs.models.experiment import config_section
from workers.config.tasks import TASKS

NAMED = dict.fromkeys(key for options in TASKS.values() for key in options.headline)
ROWS = tuple(metric for metric in METRICS if metric.headline or metric.key in NAMED or metric.fallback_for in NAMED)
HEADLINE = (*ROWS, *(metric for metric in map(metric_of, NAMED) if metric not in ROWS))
"""The headline metrics of all tasks, in the order of the catalogue; then those that it does not have."""
FALLBACKS = {metric.key: metric.fallback_for for metric in METRICS if metric.fallback_for}
"""Metric that stands in for another -> that one."""
HEADLINE_KEYS = tuple(metric.key for metric in HEADLINE)
MEASURES = tuple(sorted(HEADLINE, key=lambda metric: metric.headline != EVERY_TASK))
"""The same, those of every task first: the charts of pages of several runs."""


@lru_cache(maxsize=256)
def headline_metrics(task: str) -> tuple[Metric, ...]:
    """Return the headline metrics of a task, by its name in configs: the first of every task, its own with their
    fallbacks, and the others of every task. Return those of all tasks if it has none of its own."""
    if not (own := _own_metrics(task)):
        return HEADLINE
    first, *others = (metric for metric in METRICS if metric.headline == EVERY_TASK)
    return (first, *own, *others)


def resolve_fallbacks(keys: Iterable[str], recorded: Collection[str]) -> list[str]:
    """Return the keys, of a metric and its fallback only the recorded one, the metric itself if both are.

    Runs of earlier versions have no `accuracy/right`, but `accuracy/contains`.
    """
    replaced = {FALLBACKS[key] for key in recorded if key in FALLBACKS and FALLBACKS[key] not in recorded}
    return [key for key in keys if FALLBACKS.get(key) not in recorded and key not in replaced]


def headline_of_run(run: Run) -> tuple[Metric, ...]:
    """Return the headline metrics of a run: those of its task, and those of its kind."""
    return (*headline_metrics(task_of(run.config)), *map(metric_of, kind_of(run.method).headline))


def has_headline_metric(config: Mapping[str, Any], key: str) -> bool:
    """Return whether the headline metric of this key is one of the config's task; True if the task has none of its
    own."""
    return any(metric.key == key for metric in headline_metrics(task_of(config)))


def has_task_metrics(task: str) -> bool:
    """Return whether the task of this name has headline metrics of its own."""
    return bool(_own_metrics(task))


def task_of(config: Mapping[str, Any]) -> str:
    """Return the name of the task of a config; an empty text if it has none."""
    name = config_section(config, "task").get("name", "")
    return name if isinstance(name, str) else ""


def _own_metrics(task: str) -> list[Metric]:
    """Return the metrics that the task's options name, then those that name the task."""
    named = TASKS[task].headline if task in TASKS else ()
    fallbacks = (metric for metric in METRICS if metric.fallback_for in named)
    return [*map(metric_of, named), *fallbacks, *(m for m in METRICS if task in m.headline and m.key not in named)]
