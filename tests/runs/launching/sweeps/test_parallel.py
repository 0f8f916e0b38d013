"""Parallel coordinates of a sweep: lines over keys and metric, and the values that each line passes."""

from __future__ import annotations

from itertools import pairwise

from runs.launching.sweeps.parallel import MAX_LINES, ParallelPlot, parallel_plot, short_names, spread_labels
from runs.launching.sweeps.table import CellRow
from tests.runs.launching.sweeps.test_heat_map import options, row, seed_run


def plot_of(rows: list[CellRow], *keys: str) -> ParallelPlot:
    plot = parallel_plot(rows, options(*keys))
    assert plot is not None
    return plot


def test_line_passes_its_values_and_its_mean():
    plot = plot_of([row(n, {"a": n, "b": "x"}, seed_run(0, float(n))) for n in range(3)], "a", "b")
    lines = {line.cell: line for line in plot.lines}
    assert lines[0].points == "0,1000 500,500 1000,1000" and lines[2].points == "0,0 500,500 1000,0"
    assert (lines[0].stops, lines[2].stops) == ((0, 0, 0), (2, 0, 4))
    assert (lines[0].level, lines[2].level) == (0, 9)
    assert [axis.title for axis in plot.axes] == ["a", "b", "reward/mean"]
    assert [stop.n for stop in plot.axes[0].stops] == [1, 1, 1]


def test_line_of_a_cell_without_a_value_ends_before_the_metric():
    rows = [row(0, {"a": 1}, seed_run(0, 1.0)), row(1, {"a": 2}, seed_run(0, None, "running"))]
    line = next(line for line in plot_of(rows, "a").lines if line.cell == 1)
    assert (line.points, line.stops, line.level) == ("0,0", (1, -1), None)
    assert line.css_class == "cell-line no-value"


def test_best_cells_are_drawn_if_there_are_too_many():
    plot = plot_of([row(n, {"a": n}, seed_run(0, float(n))) for n in range(640)], "a")
    assert (plot.drawn, plot.total) == (MAX_LINES, 640)
    assert {line.cell for line in plot.lines} == set(range(440, 640))
    assert plot.lines[-1].cell == 639


def test_order_of_categories_does_not_depend_on_the_metric():
    rows = [row(n, {"a": name}, seed_run(0, float(n))) for n, name in enumerate(("x", "y", "z"))]
    assert [stop.label for stop in plot_of(rows, "a").axes[0].stops] == ["x", "y", "z"]


def test_single_cell_has_no_plot():
    assert parallel_plot([row(0, {"a": 1}, seed_run(0, 1.0))], options("a")) is None


def test_equal_means_have_one_range():
    plot = plot_of([row(n, {"a": n}, seed_run(0, 0.5)) for n in range(3)], "a")
    assert [(stop.label, stop.n) for stop in plot.axes[-1].stops] == [("0.5", 3)]


def test_keys_lose_their_sections_where_that_is_unambiguous():
    assert short_names(["es.sigma", "es.alpha"]) == ["sigma", "alpha"]
    assert short_names(["es.seed", "task.seed", "es.alpha"]) == ["es.seed", "task.seed", "alpha"]


def test_labels_are_moved_apart_within_the_height():
    assert spread_labels([100, 50, 0], 17, 240) == [100, 50, 0]
    assert spread_labels([240, 239, 238], 17, 240) == [240, 223, 206]
    moved = sorted(spread_labels([0, 1, 2, 3], 17, 240))
    assert all(b - a >= 17 for a, b in pairwise(moved)) and moved[0] >= 0
