"""Heat map of a metric over two keys of a sweep: one cell for each pair of values, pooled over the other keys."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from django.utils.translation import gettext, ngettext

from runs.charts import number
from runs.launching.sweeps.key_axis import KeyAxis, key_axis
from runs.launching.sweeps.links import runs_url
from runs.launching.sweeps.options import SweepOptions
from runs.launching.sweeps.scales import Ramp, ramp_of
from runs.launching.sweeps.table import CellRow, SeedRun, Summary, summarise
from runs.metrics import LOWER

MAX_VALUES = 24
"""Number of values on an axis; more numbers are combined into BANDS ranges."""
BANDS = 8
MAX_LISTED_SEEDS = 12
Kind: TypeAlias = Literal["empty", "no-value", "mixed", "value"]


@dataclass(frozen=True)
class HeatCell:
    """Cell of a heat map. kind: "empty" without a run, "no-value" without a number, "mixed" if its runs were measured
    differently, else "value". level: of the colour ramp, None without a mean. title: the cell as a sentence."""

    kind: Kind
    summary: Summary
    title: str = ""
    url: str = ""
    level: int | None = None
    is_best: bool = False

    @property
    def css_class(self) -> str:
        """Return the classes of its colour and its frame."""
        colour = "no-value" if self.level is None else f"heat-{self.level}"
        return f"{colour} is-best" if self.is_best else colour


@dataclass(frozen=True)
class HeatRow:
    """Row of a heat map. head: the value of the key of the rows, empty if a single key is on the columns."""

    head: str
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True)
class HeatMap:
    """Heat map: its axes (rows is None for a single key), its rows, its ramp (None without a mean).

    pooled: keys over whose values each cell pools.
    """

    rows_axis: KeyAxis | None
    columns_axis: KeyAxis
    rows: tuple[HeatRow, ...]
    ramp: Ramp | None
    pooled: tuple[str, ...]

    @property
    def kinds(self) -> set[Kind]:
        """Return the kinds of its cells, for the legend."""
        return {cell.kind for row in self.rows for cell in row.cells}

    @property
    def banded_keys(self) -> list[str]:
        """Return the keys whose values are combined into ranges."""
        return [axis.key for axis in (self.rows_axis, self.columns_axis) if axis is not None and axis.is_banded]


def heat_map(rows: Sequence[CellRow], options: SweepOptions) -> HeatMap | None:
    """Return the heat map of these cells; None for a sweep without keys or cells."""
    if not options.columns or not rows:
        return None
    cells = [row.cell for row in rows]
    columns = key_axis(options.columns, cells, MAX_VALUES, BANDS)
    lines = key_axis(options.rows, cells, MAX_VALUES, BANDS) if options.rows else None
    runs_by_place: dict[tuple[int, int], list[SeedRun]] = defaultdict(list)
    for row in rows:
        runs_by_place[lines.stop(row.cell) if lines else 0, columns.stop(row.cell)] += row.runs
    summaries = {place: summarise(runs) for place, runs in runs_by_place.items()}
    means = [summary.mean for summary in summaries.values() if summary.mean is not None]
    direction = options.metric.direction
    ramp = ramp_of(means, direction)
    best = None if direction is None or len(means) < 2 else min(means) if direction == LOWER else max(means)
    heads = [stop.label for stop in lines.stops] if lines else [""]
    heat_rows = []
    for i, head in enumerate(heads):
        places = [(_place_words(options, head, stop.label), (i, j)) for j, stop in enumerate(columns.stops)]
        cells_of_row = (_cell(words, runs_by_place.get(at, []), summaries.get(at), ramp, best) for words, at in places)
        heat_rows.append(HeatRow(head, tuple(cells_of_row)))
    return HeatMap(lines, columns, tuple(heat_rows), ramp, options.pooled)


def _place_words(options: SweepOptions, row: str, column: str) -> str:
    place = f"{options.columns} {column}"
    return f"{options.rows} {row}, {place}" if options.rows else place


def _cell(
    place: str, runs: Sequence[SeedRun], summary: Summary | None, ramp: Ramp | None, best: float | None
) -> HeatCell:
    if summary is None:
        return HeatCell("empty", Summary(0, 0), gettext("%(place)s: no run") % {"place": place})
    kind: Kind = "mixed" if summary.is_mixed else "no-value" if summary.mean is None else "value"
    return HeatCell(
        kind=kind,
        summary=summary,
        title=f"{place}: {_result_words(kind, summary)}, {_seeds_words(runs)}",
        url=runs_url(runs),
        level=ramp.level(summary.mean) if ramp is not None and summary.mean is not None else None,
        is_best=best is not None and summary.mean == best,
    )


def _result_words(kind: Kind, summary: Summary) -> str:
    if kind == "mixed":
        return gettext("measured differently (%(ways)s), so there is no mean") % {"ways": summary.ways_words}
    if kind == "no-value":
        return gettext("no value yet") if summary.is_open else gettext("no value")
    text = gettext("mean %(mean)s") % {"mean": number(summary.mean)}
    if summary.std is not None:
        text = gettext("%(mean)s, standard deviation %(std)s") % {"mean": text, "std": number(summary.std)}
    return text


def _seeds_words(runs: Sequence[SeedRun]) -> str:
    seeds = sorted({run.seed for run in runs})
    listed = ", ".join(map(str, seeds[:MAX_LISTED_SEEDS])) + (", …" if len(seeds) > MAX_LISTED_SEEDS else "")
    text = ngettext("seed %(seeds)s", "seeds %(seeds)s", len(seeds)) % {"seeds": listed}
    more = ngettext("%(n)s run", "%(n)s runs", len(runs)) % {"n": len(runs)}
    return text if len(runs) == len(seeds) else f"{more}, {text}"
