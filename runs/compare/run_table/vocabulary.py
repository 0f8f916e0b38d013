"""The keys of an experiment's runs: fields, metrics with their summaries and steps, and settings of the config."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from django.utils.translation import gettext

from runs.compare.run_table.columns import BEST, FIELDS, SUMMARIES, Column, Kind, split_summary
from runs.metrics import HEADLINE_KEYS, HIGHER, good_direction
from runs.metrics.catalogue import METRICS
from runs.models import Experiment, Run, Series
from workers.analysis.keys import KL, REWARD, RIGHT
from workers.config import RunConfig, config_fields

RUNS_READ_FOR_METRICS = 100
DEFAULT_METRICS = (REWARD, RIGHT, KL)
"""Headline metrics of runs whose task has none of its own."""
ALIASES = {metric.alias: metric.key for metric in METRICS if metric.alias} | {"seconds": "time", "flag": "flags"}
FREE_PREFIXES = ("grpo.extra.", "task.options.", "es.noise.", "imported.")
CONFIG_PATH = re.compile(r"[A-Za-z_][\w-]*(\.[\w-]+)*")
EXAMPLE_STEP = 100
MAX_STEP = 2**53


@dataclass(frozen=True)
class Vocabulary:
    """The keys of the runs of an experiment."""

    metrics: tuple[str, ...]

    @property
    def keys(self) -> list[str]:
        """Return every key without a summary or a step."""
        return [*FIELDS, *self.metrics, *config_keys()]

    @property
    def suggestions(self) -> list[str]:
        """Return the keys that forms offer: every key, with the summaries of default metrics and `.best` of others."""
        shown = [key for key in HEADLINE_KEYS if key in DEFAULT_METRICS or key in self.metrics]
        summaries = [f"{key}{end}" for key in shown for end in (".min", ".max", f"@{EXAMPLE_STEP}")]
        return [*self.keys, *summaries, *(f"{key}{BEST}" for key in self.metrics if good_direction(key) is not None)]

    def column(self, key: str) -> Column | None:
        """Return the column that a key or an alias names, or None if the key is unknown.

        Headline metrics, which include those with an alias, are columns even if no run has them yet. A metric whose own
        key holds an @, such as pass@1, is that metric and not its value at a step.
        """
        name = ALIASES.get(key, key)
        if name in FIELDS:
            return FIELDS[name]
        stem, summary = split_summary(name)
        if metric := self._metric(stem):
            field = _summary_field(metric, summary)
            return Column(f"{metric}{summary}", Kind.METRIC, summary=field) if field else None
        stem, _at, step = name.rpartition("@")
        if metric := self._metric(stem):
            number = _parse_step(step)
            return None if number is None else Column(f"{metric}@{number}", Kind.STEP_VALUE, step=number)
        if name in config_keys() or (name.startswith(FREE_PREFIXES) and CONFIG_PATH.fullmatch(name)):
            return Column(name, Kind.CONFIG)
        return None

    def unknown_key_message(self, key: str) -> str:
        """Return a message that a key is unknown, with similar keys or the valid forms of its summary or step."""
        stem, summary = split_summary(key)
        if summary == BEST and (metric := self._metric(stem)):
            message = gettext("esweb does not know whether a higher %(metric)s is better: use %(metric)s.min or .max.")
            return message % {"metric": metric}
        if metric := self._metric(key.rpartition("@")[0]):
            message = gettext("The step in %(key)r must be a whole number from 0, as in %(metric)s@100.")
            return message % {"key": key, "metric": metric}
        near = get_close_matches(key, self.keys, n=3, cutoff=0.5) or ["state", "es.sigma", *self.metrics[:1]]
        return gettext("Unknown key %(key)r. Did you mean %(near)s?") % {"key": key, "near": _join_with_or(near)}

    def _metric(self, name: str) -> str:
        """Return the key of the metric that a key or an alias names; empty if there is none."""
        key = name if name in self.metrics else ALIASES.get(name, name)
        return key if key in self.metrics or key in HEADLINE_KEYS else ""


def unsortable_message(column: Column) -> str:
    """Return a message that a value at a step can be neither sorted nor queried, with the keys that can."""
    keys = [column.metric, f"{column.metric}.min", f"{column.metric}.max"]
    if column.good_direction is not None:
        keys.append(f"{column.metric}{BEST}")
    message = gettext("%(key)s is read from the points of the displayed runs: sort and filter by %(near)s.")
    return message % {"key": column.key, "near": _join_with_or(keys)}


def vocabulary(experiment: Experiment) -> Vocabulary:
    """Return the keys of an experiment. The metrics are those of its newest runs."""
    newest = list(Run.objects.filter(experiment=experiment).order_by("-pk")[:RUNS_READ_FOR_METRICS].values_list("pk"))
    metric_keys = Series.objects.filter(run__in=[pk for (pk,) in newest]).order_by("key").values_list("key", flat=True)
    return Vocabulary(tuple(metric_keys.distinct()))


@cache
def config_keys() -> tuple[str, ...]:
    """Return the dotted path of every config setting, without those that are fields of a run."""
    return tuple(dict.fromkeys(setting.path for setting in config_fields(RunConfig) if setting.path not in FIELDS))


def _summary_field(metric: str, summary: str) -> str | None:
    """Return the field of Series that holds a metric's summary; None for the best of an unknown direction."""
    if summary != BEST:
        return SUMMARIES[summary or ".last"]
    direction = good_direction(metric)
    return None if direction is None else SUMMARIES[".max" if direction == HIGHER else ".min"]


def _parse_step(text: str) -> int | None:
    """Return a step as an address writes it; None if the text is no step."""
    is_digits = re.fullmatch(r"\d{1,16}", text, re.ASCII)
    return int(text) if is_digits and int(text) <= MAX_STEP else None


def _join_with_or(names: Collection[str]) -> str:
    *others, last = names
    return gettext("%(others)s or %(last)s") % {"others": ", ".join(others), "last": last} if others else last
