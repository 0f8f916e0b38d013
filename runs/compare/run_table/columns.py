"""Define the columns that a table of runs can show, sort by and query.

They are fields of a run, any key of its config and any key of its series.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum, auto
from functools import cache

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.models import Experiment, Run, Series
from workers.analysis.detectors import DETECTORS
from workers.config import RunConfig, config_fields
from workers.executors.states import State

RUNS_READ_FOR_METRICS = 100
ALIASES = {"reward": "reward/mean", "accuracy": "accuracy/contains", "seconds": "time", "flag": "flags"}
SUMMARIES = {".last": "last_value", ".min": "min_value", ".max": "max_value"}
FREE_PREFIXES = ("grpo.extra.", "task.options.", "es.noise.", "imported.")
CONFIG_PATH = re.compile(r"[A-Za-z_][\w-]*(\.[\w-]+)*")
DEFAULTS = ("state", "method", "preset", "seed", "step", "reward/mean", "accuracy/contains", "kl", "time")
DEFAULTS_WITH_FLAGS = ("state", "flags", *DEFAULTS[1:])
"""The default columns of an experiment in which a run has an open flag."""


class Kind(Enum):
    """Classify columns by how their values are compared."""

    TEXT = auto()
    CHOICE = auto()
    NUMBER = auto()
    TIME = auto()
    TAGS = auto()
    ARCHIVED = auto()
    FLAGS = auto()
    CONFIG = auto()
    METRIC = auto()


@dataclass(frozen=True)
class Column:
    """A key of runs. `summary` is the field of Series that holds a metric's value: its last, lowest or highest."""

    key: str
    kind: Kind
    choices: tuple[str, ...] = ()
    summary: str = ""

    @property
    def title(self) -> str:
        """Return the column's title in the reader's language. A config key, and most metrics, have the key as title."""
        if self.kind is Kind.CONFIG:
            return self.key
        if self.kind is not Kind.METRIC:
            return gettext(FIELD_TITLES[self.key])
        metric, summary = _split(self.key)
        title = gettext(TITLES[metric]) if metric in TITLES else metric
        return title if summary in ("", ".last") else f"{title} {summary[1:]}"

    @property
    def metric(self) -> str:
        """Return the metric's own key, without the requested summary."""
        return _split(self.key)[0]

    @property
    def path(self) -> list[str]:
        """Return the names that lead to the column's value in a config, outermost first."""
        return self.key.split(".")

    @property
    def is_number(self) -> bool:
        """Return whether the values are numbers, which are right-aligned."""
        return self.kind in (Kind.NUMBER, Kind.METRIC)

    @property
    def is_sortable(self) -> bool:
        return self.kind not in (Kind.TAGS, Kind.ARCHIVED) and self.key not in ("note", "origin")

    @property
    def is_groupable(self) -> bool:
        return (self.is_sortable or self.key == "origin") and self.key not in ("created", "flags")


FIELDS = {
    column.key: column
    for column in (
        Column("name", Kind.TEXT),
        Column("state", Kind.CHOICE, tuple(s.value for s in State)),
        Column("method", Kind.CHOICE, ("es", "grpo", "scorer")),
        Column("preset", Kind.TEXT),
        Column("seed", Kind.NUMBER),
        Column("step", Kind.NUMBER),
        Column("time", Kind.NUMBER),
        Column("created", Kind.TIME),
        Column("by", Kind.TEXT),
        Column("tag", Kind.TAGS),
        Column("note", Kind.TEXT),
        Column("recipe", Kind.TEXT),
        Column("origin", Kind.TEXT),
        Column("archived", Kind.ARCHIVED, ("no", "yes", "any")),
        Column("flags", Kind.FLAGS, ("any", "none", *(detector.name for detector in DETECTORS))),
    )
}
NAME = FIELDS["name"]
FIELD_TITLES = {
    "name": _("Run"),
    "state": _("State"),
    "method": _("Method"),
    "preset": _("Preset"),
    "seed": _("Seed"),
    "step": _("Step"),
    "time": _("Time"),
    "created": _("Created"),
    "by": _("By"),
    "tag": _("Tags"),
    "note": _("Note"),
    "recipe": _("Recipe"),
    "origin": _("Origin"),
    "archived": _("Archived"),
    "flags": _("Flags"),
}
TITLES = {"reward/mean": _("Reward"), "accuracy/contains": _("Accuracy"), "kl": _("KL")}


@dataclass(frozen=True)
class Vocabulary:
    """The keys of the runs of an experiment."""

    metrics: tuple[str, ...]

    @property
    def keys(self) -> list[str]:
        """Return every key that is worth offering."""
        return [*FIELDS, *self.metrics, *config_keys()]

    def column(self, key: str) -> Column | None:
        """Return the column that a key or an alias names, or None if the key is unknown.

        Default metrics, which include those with an alias, are columns even if no run has them yet.
        """
        name = ALIASES.get(key, key)
        if name in FIELDS:
            return FIELDS[name]
        metric, summary = _split(name)
        if metric in self.metrics or metric in DEFAULTS:
            return Column(name, Kind.METRIC, summary=SUMMARIES[summary or ".last"])
        if name in config_keys() or (name.startswith(FREE_PREFIXES) and CONFIG_PATH.fullmatch(name)):
            return Column(name, Kind.CONFIG)
        return None

    def unknown_key_message(self, key: str) -> str:
        """Return a message that a key is unknown, with similar keys."""
        near = get_close_matches(key, self.keys, n=3, cutoff=0.5) or ["state", "es.sigma", *self.metrics[:1]]
        return gettext("Unknown key %(key)r. Did you mean %(near)s?") % {"key": key, "near": _join_with_or(near)}


def vocabulary(experiment: Experiment) -> Vocabulary:
    """Return the keys of an experiment. The metrics are those of its newest runs."""
    newest = list(Run.objects.filter(experiment=experiment).order_by("-pk")[:RUNS_READ_FOR_METRICS].values_list("pk"))
    metric_keys = Series.objects.filter(run__in=[pk for (pk,) in newest]).order_by("key").values_list("key", flat=True)
    return Vocabulary(tuple(metric_keys.distinct()))


@cache
def config_keys() -> tuple[str, ...]:
    """Return the dotted path of every config setting, without those that are fields of a run."""
    return tuple(dict.fromkeys(setting.path for setting in config_fields(RunConfig) if setting.path not in FIELDS))


def _split(key: str) -> tuple[str, str]:
    """Split a key into metric and summary: kl.max -> (kl, .max)."""
    for summary in SUMMARIES:
        if key.endswith(summary):
            return key.removesuffix(summary), summary
    return key, ""


def _join_with_or(names: Collection[str]) -> str:
    *others, last = names
    return gettext("%(others)s or %(last)s") % {"others": ", ".join(others), "last": last} if others else last
