"""Parallel coordinates of a sweep: one line for each cell over its keys, with the mean of the metric as last axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext

from runs.charts import number
from runs.launching.sweeps.key_axis import KeyAxis, Stop, band_index, band_stops, key_axis
from runs.launching.sweeps.options import SweepOptions
from runs.launching.sweeps.scales import Ramp, ramp_of
from runs.launching.sweeps.table import CellRow, best_cells

MAX_LINES = 200
MAX_VALUES = 12
"""Number of values on an axis; more numbers are combined into BANDS ranges."""
BANDS = 5
MIN_HEIGHT = 240
LABEL_HEIGHT = 17
RANGE_WIDTH = 16
CHARACTER_WIDTH = 7
"""Pixels."""
MAX_LABEL_LENGTH = 16
UNITS = 1000
"""Width and height of the lines' coordinates."""


@dataclass(frozen=True)
class PlotStop:
    """Value or range of a drawn axis, which a user can select, with `n` lines through it.

    name: its name in the page's script. y: its middle, top, height: of the area to press, label_y: of its label, in
    pixels. The label of a range is not drawn: its ends are ticks of the axis.
    """

    name: str
    label: str
    n: int
    is_range: bool
    top: int
    height: int
    y: int
    label_y: int

    @property
    def short_label(self) -> str:
        """Return the label, cut to MAX_LABEL_LENGTH."""
        is_long = len(self.label) > MAX_LABEL_LENGTH
        return f"{self.label[: MAX_LABEL_LENGTH - 1]}…" if is_long else self.label

    @property
    def width(self) -> int:
        """Return the width of the area to press, in pixels: around the label, or around the axis."""
        return RANGE_WIDTH if self.is_range else RANGE_WIDTH + CHARACTER_WIDTH * len(self.short_label)


@dataclass(frozen=True)
class PlotAxis:
    """Drawn axis at `x`, in percent of the width. ticks: (label, y) of the ends of its ranges. side: the end of the
    title that is at the axis, one of start, middle and end."""

    key: str
    title: str
    x: str
    side: str
    stops: tuple[PlotStop, ...]
    ticks: tuple[tuple[str, int], ...]
    is_log: bool = False
    is_metric: bool = False


@dataclass(frozen=True)
class PlotLine:
    """Line of a cell. points: an SVG polyline in UNITS. stops: index of its stop on each axis, -1 if it has none."""

    cell: int
    title: str
    points: str
    stops: tuple[int, ...]
    level: int | None

    @property
    def css_class(self) -> str:
        """Return the classes of the line and its colour."""
        return f"cell-line {'no-value' if self.level is None else f'heat-{self.level}'}"

    @property
    def stops_words(self) -> str:
        """Return the stops for the page's script, separated by spaces."""
        return " ".join(map(str, self.stops))


@dataclass(frozen=True)
class ParallelPlot:
    """Parallel coordinates: axes, and the lines of some of the `total` cells. height: in pixels."""

    axes: tuple[PlotAxis, ...]
    lines: tuple[PlotLine, ...]
    total: int
    height: int

    @property
    def drawn(self) -> int:
        """Return the number of lines."""
        return len(self.lines)


def parallel_plot(rows: Sequence[CellRow], options: SweepOptions) -> ParallelPlot | None:
    """Return the parallel coordinates of these cells, of the first MAX_LINES by rank if there are more.

    Return None without a key, or with fewer than two cells: a single line has nothing to be compared with.
    """
    if not options.keys or len(rows) < 2:
        return None
    drawn = _first_by_rank(rows, options)
    # In the sweep's own order, so that the order of categories does not depend on the metric.
    cells = [row.cell for row in sorted(drawn, key=lambda row: row.index)]
    axes = [key_axis(key, cells, MAX_VALUES, BANDS) for key in options.keys]
    ramp = ramp_of([row.mean for row in drawn if row.mean is not None], options.metric.direction)
    # The best lines are drawn last, above the others.
    lines = tuple(_line(row, axes, ramp) for row in reversed(drawn))
    height = max(MIN_HEIGHT, LABEL_HEIGHT * max(len(axis.stops) for axis in axes))
    return ParallelPlot(_plot_axes(axes, ramp, lines, options.metric.key, height), lines, len(rows), height)


def _first_by_rank(rows: Sequence[CellRow], options: SweepOptions) -> list[CellRow]:
    """Return the first MAX_LINES cells by rank, those without a mean last."""
    ranking = best_cells(rows, None, options.metric.direction)
    ranked = {row.index for row in ranking}
    return [*ranking, *(row for row in rows if row.index not in ranked)][:MAX_LINES]


def _line(row: CellRow, axes: Sequence[KeyAxis], ramp: Ramp | None) -> PlotLine:
    positions, stops = [axis.position(row.cell) for axis in axes], [axis.stop(row.cell) for axis in axes]
    params = {"cell": row.label, "mean": number(row.mean), "n": row.summary.n}
    if ramp is None or row.mean is None:
        title = gettext("%(cell)s: no value") % params
        return PlotLine(row.index, title, _points(positions, len(axes)), (*stops, -1), None)
    at = ramp.scale.at(row.mean)
    return PlotLine(
        cell=row.index,
        title=gettext("%(cell)s: %(mean)s (n = %(n)s)") % params,
        points=_points([*positions, at], len(axes)),
        stops=(*stops, 0 if ramp.is_flat else band_index(at, BANDS)),
        level=ramp.level(row.mean),
    )


def _plot_axes(
    axes: Sequence[KeyAxis], ramp: Ramp | None, lines: Sequence[PlotLine], metric: str, height: int
) -> tuple[PlotAxis, ...]:
    titles = short_names([axis.key for axis in axes])
    plot_axes = [
        PlotAxis(
            key=axis.key, title=title, x=f"{100 * n / len(axes):.4g}%", side="middle" if n else "start",
            stops=_stops(axis.stops, Counter(line.stops[n] for line in lines), height, is_banded=axis.is_banded),
            ticks=_ticks(axis.ticks, height), is_log=axis.scale is not None and axis.scale.is_log,
        )
        for n, (axis, title) in enumerate(zip(axes, titles, strict=True))
    ]  # fmt: skip
    stops, ticks = band_stops(ramp.scale, BANDS) if ramp else ((), ())
    counts = Counter(line.stops[-1] for line in lines)
    metric_axis = PlotAxis(
        key=metric, title=metric, x="100%", side="end", stops=_stops(stops, counts, height, is_banded=True),
        ticks=_ticks(ticks, height), is_log=ramp is not None and ramp.scale.is_log, is_metric=True,
    )  # fmt: skip
    return *plot_axes, metric_axis


def short_names(keys: Sequence[str]) -> list[str]:
    """Return the keys without their sections, where that is unambiguous."""
    last = [key.rpartition(".")[2] for key in keys]
    return [short if last.count(short) == 1 else key for key, short in zip(keys, last, strict=True)]


def spread_labels(positions: Sequence[int], gap: int, height: int) -> list[int]:
    """Return positions of labels, in the order of `positions`, at least `gap` apart and within 0 to `height`, as near
    to the given ones as a pass down and a pass up bring them."""
    order = sorted(range(len(positions)), key=lambda n: positions[n])
    out = list(positions)
    low = -gap
    for n in order:
        out[n] = low = max(out[n], low + gap)
    high = height + gap
    for n in reversed(order):
        out[n] = high = min(out[n], high - gap)
    return out


def _stops(stops: Sequence[Stop], counts: Mapping[int, int], height: int, *, is_banded: bool) -> tuple[PlotStop, ...]:
    """Return the stops in pixels, with the number of lines through each."""
    label_ys = spread_labels([_y(stop.middle, height) for stop in stops], LABEL_HEIGHT, height)
    out = []
    for n, (stop, label_y) in enumerate(zip(stops, label_ys, strict=True)):
        top, bottom = _y(stop.high, height), _y(stop.low, height)
        is_range = bottom > top
        out.append(PlotStop(
            name=str(n) if is_banded else stop.label, label=stop.label, n=counts.get(n, 0), is_range=is_range,
            top=top if is_range else label_y - LABEL_HEIGHT // 2,
            height=bottom - top if is_range else LABEL_HEIGHT, y=_y(stop.middle, height), label_y=label_y,
        ))  # fmt: skip
    return tuple(out)


def _ticks(ticks: Sequence[tuple[str, float]], height: int) -> tuple[tuple[str, int], ...]:
    return tuple((label, _y(at, height)) for label, at in ticks)


def _points(positions: Sequence[float], keys: int) -> str:
    xs = [round(UNITS * n / keys) for n in range(len(positions))]
    return " ".join(f"{x},{round(UNITS * (1 - at))}" for x, at in zip(xs, positions, strict=True))


def _y(position: float, height: int) -> int:
    return round(height * (1 - position))
