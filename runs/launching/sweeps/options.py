"""Display options of a sweep's page, from its address: the metric, its summary over steps, and the heat map's keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.http import UnknownChoice, choice_or_default, must_be_one_of, require_choice
from runs.metrics import HEADLINE_KEYS, HIGHER, good_direction
from runs.models import Series, Sweep
from workers.analysis.keys import ACCURACY, EXACT, REWARD, RIGHT

COMMON_METRICS = tuple(dict.fromkeys((
    REWARD, RIGHT, ACCURACY, EXACT, *HEADLINE_KEYS, "response/tokens_mean", "response/clipped_ratio",
    "train/reward/mean", "train/kl", "time/step_seconds",
)))  # fmt: skip
"""Metrics of both methods, the first in a list of metrics."""
SUMMARIES = {"last": _("last value"), "best": _("best value"), "min": _("lowest value"), "max": _("highest value")}
FIELDS = {"last": "last_value", "min": "min_value", "max": "max_value"}
"""Summary -> field of Series."""


@dataclass(frozen=True)
class SweepMetric:
    """Number by which the runs of a sweep are compared. summary: one of SUMMARIES, over the steps of a run."""

    key: str = REWARD
    summary: str = "last"

    @property
    def direction(self) -> int | None:
        """Return HIGHER or LOWER, where its good values are; None if that is not known."""
        return good_direction(self.key)

    @property
    def is_higher_better(self) -> bool:
        """Return whether higher values are known to be better."""
        return self.direction == HIGHER

    @property
    def field(self) -> str:
        """Return the field of Series that holds the summary. The best value is the extreme in the good direction."""
        if self.summary == "best":
            return FIELDS["max" if self.is_higher_better else "min"]
        return FIELDS[self.summary]

    @property
    def summary_words(self) -> str:
        """Return the name of the summary in the reader's language."""
        return gettext(SUMMARIES[self.summary])

    @property
    def summaries(self) -> list[tuple[str, str]]:
        """Return the summaries to choose from, with their names. A best value needs a known good direction."""
        names = [name for name in SUMMARIES if name != "best" or self.direction is not None]
        return [(name, gettext(SUMMARIES[name])) for name in names]

    @property
    def direction_words(self) -> str:
        """Return which values are better, as a phrase; empty if that is not known."""
        if self.direction is None:
            return ""
        return gettext("higher is better") if self.is_higher_better else gettext("lower is better")


@dataclass(frozen=True)
class SweepOptions:
    """Display options of a sweep. rows, columns: the keys of its heat map; rows is empty for a single key."""

    metric: SweepMetric
    metrics: tuple[str, ...]
    keys: tuple[str, ...]
    rows: str
    columns: str

    @property
    def pooled(self) -> tuple[str, ...]:
        """Return the keys that are not on an axis of the heat map: its cells pool over their values."""
        return tuple(key for key in self.keys if key not in (self.rows, self.columns))


def parse_options(request: HttpRequest, sweep: Sweep) -> SweepOptions:
    """Return the options in the address. One query.

    Raise UnknownChoice for an unknown metric or summary: another one is other data. Warn of an unknown key of the heat
    map, and use the default; raise UnknownChoice for a file.
    """
    metrics = metrics_of(sweep)
    key = request.GET.get("metric") or REWARD
    if key not in metrics and key not in COMMON_METRICS:
        raise UnknownChoice(must_be_one_of("metric", metrics or COMMON_METRICS, key))
    names = [name for name, _words in SweepMetric(key).summaries]
    keys = tuple(sweep.keys)
    rows, columns = _axis_keys(request, keys)
    return SweepOptions(
        metric=SweepMetric(key, require_choice(request, "summary", names, "last")),
        metrics=tuple(metrics),
        keys=keys,
        rows=rows,
        columns=columns,
    )


def metrics_of(sweep: Sweep) -> list[str]:
    """Return the metrics that runs of the sweep have, the common ones first. One query."""
    series = Series.objects.filter(run__sweep=sweep, run__deleted_at__isnull=True)
    keys = set(series.order_by().values_list("key", flat=True).distinct())
    common = [key for key in COMMON_METRICS if key in keys]
    return [*common, *sorted(keys.difference(common))]


def _axis_keys(request: HttpRequest, keys: Sequence[str]) -> tuple[str, str]:
    """Return the keys of the heat map's rows and columns. If the address names one key twice, the other is the first
    that is left."""
    if len(keys) < 2:
        return "", next(iter(keys), "")
    rows = choice_or_default(request, "rows", keys, keys[0])
    others = [key for key in keys if key != rows]
    columns = choice_or_default(request, "columns", keys, others[0])
    return rows, others[0] if columns == rows else columns
