"""Define the columns that a table of runs can show, sort by and query.

They are fields of a run, any key of its config and any key of its series.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.metrics import good_direction, is_held_out
from workers.analysis.detectors import DETECTORS
from workers.executors.states import State

SUMMARIES = {".last": "last_value", ".min": "min_value", ".max": "max_value"}
"""Suffixes of metrics -> the field of Series that holds this summary."""
BEST = ".best"
"""Suffix of the extreme in the metric's good direction."""
FIRST_DEFAULTS, LAST_DEFAULTS = ("state", "method", "preset", "seed", "step"), ("time",)
"""The default columns before and after those of the headline metrics."""


METHODS = ("es", "grpo", "evaluate", "probe", "scorer")


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

    step: the step of a metric's value, for columns of the kind STEP_VALUE.
    """

    key: str
    kind: Kind
    choices: tuple[str, ...] = ()
    summary: str = ""
    step: int | None = None

    @property
    def title(self) -> str:
        """Return the column's title in the reader's language. A config key, and most metrics, have the key as title."""
        if self.kind is Kind.CONFIG:
            return self.key
        if not self.is_metric:
            return gettext(FIELD_TITLES[self.key])
        title = gettext(TITLES[self.metric]) if self.metric in TITLES else self.metric
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
        Column("name", Kind.TEXT),
        Column("state", Kind.CHOICE, tuple(s.value for s in State)),
        Column("method", Kind.CHOICE, METHODS),
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
RUN_COUNT = Column("n", Kind.NUMBER)
"""The number of runs of a group, by which groups can be sorted. It is no column of runs."""
FIELD_TITLES = {
    "n": _("Runs"),
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
TITLES = {
    "reward/mean": _("Reward"),
    "accuracy/contains": _("Accuracy"),
    "safety/safe_ratio": _("Safe ratio"),
    "cost/mean": _("Cost"),
    "kl": _("KL"),
}
SHARES = ("accuracy/", "safety/safe_ratio")
"""Beginnings of the keys of metrics that are shares, written in percent."""
SUMMARY_WORDS = {".min": _("min"), ".max": _("max"), BEST: _("best")}


def split_summary(key: str) -> tuple[str, str]:
    """Split a key into metric and summary: kl.max -> (kl, .max)."""
    for summary in (*SUMMARIES, BEST):
        if key.endswith(summary):
            return key.removesuffix(summary), summary
    return key, ""
