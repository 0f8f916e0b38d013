"""Define the columns that a table of runs can show, sort by and query.

They are fields of a run, any key of its config and any key of its series.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.metrics import HEADLINE_KEYS, good_direction, is_held_out
from runs.metrics.catalogue import metric_of
from workers.analysis.detectors import DETECTORS
from workers.config.methods import METHODS
from workers.executors.states import State

SUMMARIES = {".last": "last_value", ".min": "min_value", ".max": "max_value"}
"""Suffixes of metrics -> the field of Series that holds this summary."""
BEST = ".best"
"""Suffix of the extreme in the metric's good direction."""
FIRST_DEFAULTS, LAST_DEFAULTS = ("state", "method", "preset", "seed", "step"), ("time",)
"""The default columns before and after those of the headline metrics."""


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
    STEP_VALUE = auto()


@dataclass(frozen=True)
class Column:
    """A key of runs. `summary` is the field of Series that holds a metric's value: its last, lowest or highest.

    step: the step of a metric's value, for columns of the kind STEP_VALUE. label: the title of a field of runs.
    """

    key: str
    kind: Kind
    choices: tuple[str, ...] = ()
    summary: str = ""
    step: int | None = None
    label: str = ""

    @property
    def title(self) -> str:
        """Return the column's title in the reader's language. A config key, and all metrics but headline metrics, have
        the key as title."""
        if self.kind is Kind.CONFIG:
            return self.key
        if not self.is_metric:
            return gettext(self.label)
        metric = metric_of(self.metric)
        title = gettext(metric.short or metric.title) if self.metric in HEADLINE_KEYS else self.metric
        if self.step is not None:
            return f"{title} @ {self.step}"
        summary = split_summary(self.key)[1]
        return f"{title} {gettext(SUMMARY_WORDS[summary])}" if summary in SUMMARY_WORDS else title

    @cached_property
    def metric(self) -> str:
        """Return the metric's own key, without the requested summary or step."""
        return self.key.rpartition("@")[0] if self.step is not None else split_summary(self.key)[0]

    @cached_property
    def is_metric(self) -> bool:
        """Return whether the values are those of a metric: a summary of it, or its value at a step."""
        return self.kind in (Kind.METRIC, Kind.STEP_VALUE)

    @cached_property
    def is_held_out(self) -> bool:
        """Return whether an evaluation measures the values, at least in some runs."""
        return self.is_metric and is_held_out(self.metric)

    @cached_property
    def is_share(self) -> bool:
        """Return whether the values are shares, written in percent."""
        return self.is_metric and metric_of(self.metric).is_share

    @property
    def good_direction(self) -> int | None:
        """Return HIGHER or LOWER if values in this direction are better; None if neither is."""
        return good_direction(self.metric) if self.is_metric else None

    @property
    def path(self) -> list[str]:
        """Return the names that lead to the column's value in a config, outermost first."""
        return self.key.split(".")

    @property
    def is_number(self) -> bool:
        """Return whether the values are numbers, which are right-aligned."""
        return self.kind in (Kind.NUMBER, Kind.METRIC, Kind.STEP_VALUE)

    @property
    def is_sortable(self) -> bool:
        return self.kind not in UNSORTED and self.key not in ("note", "origin")

    @property
    def is_measured(self) -> bool:
        """Return whether the values are measurements: their mean and their difference from another run mean
        something."""
        return self.is_metric or self.key in ("step", "time")

    @property
    def is_groupable(self) -> bool:
        return (self.is_sortable or self.key == "origin") and self.key not in ("created", "flags")


UNSORTED = (Kind.TAGS, Kind.ARCHIVED, Kind.STEP_VALUE)
FIELDS = {
    column.key: column
    for column in (
        Column("name", Kind.TEXT, label=_("Run")),
        Column("state", Kind.CHOICE, tuple(s.value for s in State), label=_("State")),
        Column("method", Kind.CHOICE, tuple(METHODS), label=_("Method")),
        Column("preset", Kind.TEXT, label=_("Preset")),
        Column("seed", Kind.NUMBER, label=_("Seed")),
        Column("step", Kind.NUMBER, label=_("Step")),
        Column("time", Kind.NUMBER, label=_("Time")),
        Column("created", Kind.TIME, label=_("Created")),
        Column("by", Kind.TEXT, label=_("By")),
        Column("tag", Kind.TAGS, label=_("Tags")),
        Column("note", Kind.TEXT, label=_("Note")),
        Column("recipe", Kind.TEXT, label=_("Recipe")),
        Column("origin", Kind.TEXT, label=_("Origin")),
        Column("archived", Kind.ARCHIVED, ("no", "yes", "any"), label=_("Archived")),
        Column("flags", Kind.FLAGS, ("any", "none", *(detector.name for detector in DETECTORS)), label=_("Flags")),
    )
}
NAME = FIELDS["name"]
RUN_COUNT = Column("n", Kind.NUMBER, label=_("Runs"))
"""The number of runs of a group, by which groups can be sorted. It is no column of runs."""
SUMMARY_WORDS = {".min": _("min"), ".max": _("max"), BEST: _("best")}


def split_summary(key: str) -> tuple[str, str]:
    """Split a key into metric and summary: kl.max -> (kl, .max)."""
    for summary in (*SUMMARIES, BEST):
        if key.endswith(summary):
            return key.removesuffix(summary), summary
    return key, ""
