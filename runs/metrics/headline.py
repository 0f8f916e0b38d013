"""Headline metrics of a task: those that home, tables and the page of a run show first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_noop as _

from runs.models.experiment import config_section


@dataclass(frozen=True)
class HeadlineMetric:
    """A metric that pages show first. `chart` is the slug of its chart on the page of a run; `is_share`: its values
    are shares, written in percent."""

    chart: str
    key: str
    title: str
    is_share: bool = False


REWARD = HeadlineMetric("reward", "reward/mean", _("Held-out reward"))
ACCURACY = HeadlineMetric("accuracy", "accuracy/contains", _("Accuracy"), is_share=True)
KL = HeadlineMetric("kl", "kl", _("KL, nats per token"))
SAFE = HeadlineMetric("safety-safe_ratio", "safety/safe_ratio", _("Safe ratio"), is_share=True)
COST = HeadlineMetric("cost-mean", "cost/mean", _("Cost"))
PASS = HeadlineMetric("pass-1", "pass@1", _("pass@1"), is_share=True)
BY_TASK = {
    "safety": (REWARD, SAFE, COST, KL),
    "conciseness": (REWARD, ACCURACY, KL),
    "countdown": (REWARD, ACCURACY, KL),
    "math": (REWARD, ACCURACY, KL),
    "choice": (REWARD, ACCURACY, KL),
}
HEADLINE = (REWARD, ACCURACY, KL, SAFE, COST)
HEADLINE_KEYS = tuple(metric.key for metric in HEADLINE)


def headline_metrics(task: str) -> tuple[HeadlineMetric, ...]:
    """Return the headline metrics of a task, by its name in configs; those of all tasks for any other name."""
    return BY_TASK.get(task, HEADLINE)


def headline_of_run(method: str, task: str) -> tuple[HeadlineMetric, ...]:
    """Return the headline metrics of a run: those of its task, and pass@1, which method evaluate measures."""
    return (*headline_metrics(task), *((PASS,) if method == "evaluate" else ()))


def has_headline_metric(config: Mapping[str, Any], key: str) -> bool:
    """Return whether the headline metric of this key is one of the config's task; True if the task has none of its
    own."""
    return any(metric.key == key for metric in headline_metrics(task_of(config)))


def has_task_metrics(task: str) -> bool:
    """Return whether the task of this name has headline metrics of its own."""
    return task in BY_TASK


def task_of(config: Mapping[str, Any]) -> str:
    """Return the name of the task of a config; an empty text if it has none."""
    name = config_section(config, "task").get("name", "")
    return name if isinstance(name, str) else ""
