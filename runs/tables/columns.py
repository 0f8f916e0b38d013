"""What a table of runs can show, sort and ask for: fields of a run, any key of its config, any key of its series."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum, auto
from functools import cache

from runs.models import Experiment, Run, Series
from workers.config import RunConfig, knobs
from workers.executors.states import State

METRICS_OF_NEWEST_RUNS = 100
ALIASES = {"reward": "reward/mean", "accuracy": "accuracy/contains", "seconds": "time"}
SUMMARIES = {".last": "last_value", ".min": "min_value", ".max": "max_value"}
FREE = ("grpo.extra.", "task.options.", "es.noise.")
CONFIG_PATH = re.compile(r"[A-Za-z_][\w-]*(\.[\w-]+)*")


class Kind(Enum):
    """How a column's values are compared."""

    TEXT = auto()
    CHOICE = auto()
    NUMBER = auto()
    MOMENT = auto()
    TAGS = auto()
    ARCHIVED = auto()
    CONFIG = auto()
    METRIC = auto()


@dataclass(frozen=True)
class Column:
    """One key. `summary` is the field of Series that holds a metric's value: its last, lowest or highest."""

    key: str
    title: str
    kind: Kind
    choices: tuple[str, ...] = ()
    summary: str = ""

    @property
    def metric(self) -> str:
        """The metric's own key, without the summary that is asked for."""
        return _split(self.key)[0]

    @property
    def path(self) -> list[str]:
        """Where a config keeps it."""
        return self.key.split(".")

    @property
    def is_number(self) -> bool:
        """True where its values line up at the right."""
        return self.kind in (Kind.NUMBER, Kind.METRIC)

    @property
    def is_sortable(self) -> bool:
        return self.kind not in (Kind.TAGS, Kind.ARCHIVED) and self.key != "note"

    @property
    def is_groupable(self) -> bool:
        return self.is_sortable and self.key != "created"


FIELDS = {
    column.key: column
    for column in (
        Column("name", "Run", Kind.TEXT),
        Column("state", "State", Kind.CHOICE, tuple(s.value for s in State)),
        Column("method", "Method", Kind.CHOICE, ("es", "grpo")),
        Column("preset", "Preset", Kind.TEXT),
        Column("seed", "Seed", Kind.NUMBER),
        Column("step", "Step", Kind.NUMBER),
        Column("time", "Time", Kind.NUMBER),
        Column("created", "Created", Kind.MOMENT),
        Column("by", "By", Kind.TEXT),
        Column("tag", "Tags", Kind.TAGS),
        Column("note", "Note", Kind.TEXT),
        Column("recipe", "Recipe", Kind.TEXT),
        Column("archived", "Archived", Kind.ARCHIVED, ("no", "yes", "any")),
    )
}
NAME = FIELDS["name"]
DEFAULTS = ("state", "method", "preset", "seed", "step", "reward/mean", "accuracy/contains", "kl", "time")
TITLES = {"reward/mean": "Reward", "accuracy/contains": "Accuracy", "kl": "KL"}


@dataclass(frozen=True)
class Vocabulary:
    """The keys that there are for the runs of one experiment."""

    metrics: tuple[str, ...]

    @property
    def keys(self) -> list[str]:
        """Every key that is worth offering."""
        return [*FIELDS, *self.metrics, *config_keys()]

    def column(self, key: str) -> Column | None:
        """What a key means; None where it means nothing. A metric that no run has yet may be asked for by its alias."""
        name = ALIASES.get(key, key)
        if name in FIELDS:
            return FIELDS[name]
        metric, summary = _split(name)
        if metric in self.metrics or metric in DEFAULTS:
            return Column(name, _title(metric, summary), Kind.METRIC, summary=SUMMARIES[summary or ".last"])
        if name in config_keys() or (name.startswith(FREE) and CONFIG_PATH.fullmatch(name)):
            return Column(name, name, Kind.CONFIG)
        return None

    def complaint(self, key: str) -> str:
        """Says that a key means nothing, and which are near."""
        near = get_close_matches(key, self.keys, n=3, cutoff=0.5) or ["state", "es.sigma", *self.metrics[:1]]
        return f"There is no {key!r} here. Did you mean {_or(near)}?"


def vocabulary(experiment: Experiment) -> Vocabulary:
    """The keys of an experiment: its newest runs say which metrics there are."""
    newest = list(Run.objects.filter(experiment=experiment).order_by("-pk")[:METRICS_OF_NEWEST_RUNS].values_list("pk"))
    found = Series.objects.filter(run__in=[pk for (pk,) in newest]).order_by("key").values_list("key", flat=True)
    return Vocabulary(tuple(found.distinct()))


@cache
def config_keys() -> tuple[str, ...]:
    """Every knob by its dotted path; those that are fields of a run already have their name from there."""
    return tuple(dict.fromkeys(knob.path for knob in knobs(RunConfig) if knob.path not in FIELDS))


def _split(key: str) -> tuple[str, str]:
    """kl.max -> (kl, .max)."""
    for summary in SUMMARIES:
        if key.endswith(summary):
            return key.removesuffix(summary), summary
    return key, ""


def _title(metric: str, summary: str) -> str:
    title = TITLES.get(metric, metric)
    return title if summary in ("", ".last") else f"{title} {summary[1:]}"


def _or(words: Collection[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
