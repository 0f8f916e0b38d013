"""Heat maps of a sweep: cells over two keys, pooled over the others, with the level of each mean."""

from __future__ import annotations

from typing import Any

import pytest

from runs.launching.sweeps.heat_map import HeatMap, heat_map
from runs.launching.sweeps.options import SweepMetric, SweepOptions
from runs.launching.sweeps.table import CellRow, SeedRun, summarise
from runs.metrics import Provenance

GREEDY, SAMPLED = Provenance("evaluator", "mean", "greedy"), Provenance("evaluator", "mean", "sampled", 0.7, 4)


def seed_run(seed: int, value: float | None, state: str = "succeeded", way: Provenance | None = None) -> SeedRun:
    return SeedRun(f"uid{seed}", f"run {seed}", seed, state, value, way=way)


def row(index: int, cell: dict[str, Any], *runs: SeedRun) -> CellRow:
    return CellRow(index, cell, (), runs, runs, summarise(runs))


def options(*keys: str, metric: SweepMetric | None = None) -> SweepOptions:
    rows, columns = keys[:2] if len(keys) > 1 else ("", keys[0])
    return SweepOptions(metric or SweepMetric(), ("reward/mean",), keys, rows, columns)


def heat_of(rows: list[CellRow], *keys: str, metric: SweepMetric | None = None) -> HeatMap:
    heat = heat_map(rows, options(*keys, metric=metric))
    assert heat is not None
    return heat


GRID = [
    row(0, {"a": 1, "b": "x"}, seed_run(0, 1.0), seed_run(1, 3.0)),
    row(1, {"a": 1, "b": "y"}, seed_run(0, 10.0), seed_run(1, None, "failed")),
    row(2, {"a": 2, "b": "x"}, seed_run(0, None, "running")),
]


def test_cells_hold_mean_deviation_and_counts():
    (low, single), (missing, empty) = (line.cells for line in heat_of(GRID, "a", "b").rows)
    assert (low.kind, low.summary.mean, low.summary.n, low.summary.total) == ("value", 2.0, 2, 2)
    assert low.summary.std == pytest.approx(2**0.5)
    assert (single.summary.mean, single.summary.std, single.summary.n, single.summary.total) == (10.0, None, 1, 2)
    assert single.summary.unfinished == [("failed", 1)]
    assert (missing.kind, empty.kind) == ("no-value", "empty")
    assert "seeds 0, 1" in low.title and "a 1, b x" in low.title


def test_strongest_colour_marks_the_best_mean():
    cells = heat_of(GRID, "a", "b").rows[0].cells
    assert [(cell.level, cell.is_best) for cell in cells] == [(0, False), (9, True)]
    cells = heat_of(GRID, "a", "b", metric=SweepMetric("kl")).rows[0].cells
    assert [(cell.level, cell.is_best) for cell in cells] == [(9, True), (0, False)]


def test_metric_without_a_good_direction_has_no_best_cell():
    cells = heat_of(GRID, "a", "b", metric=SweepMetric("response/tokens_mean")).rows[0].cells
    assert [(cell.level, cell.is_best) for cell in cells] == [(0, False), (9, False)]


def test_cell_pools_runs_over_the_other_keys():
    rows = [row(n, {"a": 1, "b": 2, "c": n}, seed_run(0, float(n)), seed_run(1, float(n))) for n in range(3)]
    heat = heat_of(rows, "a", "b", "c")
    cell = heat.rows[0].cells[0]
    assert heat.pooled == ("c",)
    assert (cell.summary.mean, cell.summary.n) == (1.0, 6)
    assert "6 runs, seeds 0, 1" in cell.title


def test_single_key_is_a_strip():
    heat = heat_of([row(n, {"a": n}, seed_run(0, float(n))) for n in range(3)], "a")
    assert heat.rows_axis is None and len(heat.rows) == 1 and len(heat.rows[0].cells) == 3


def test_cell_measured_differently_has_no_number():
    mixed = row(0, {"a": 1}, seed_run(0, 1.0, way=GREEDY), seed_run(1, 2.0, way=SAMPLED))
    alike = row(1, {"a": 2}, seed_run(0, 1.0, way=GREEDY), seed_run(1, 2.0, way=GREEDY))
    first, second = heat_of([mixed, alike], "a").rows[0].cells
    assert (first.kind, first.summary.mean, first.level) == ("mixed", None, None)
    assert "measured differently" in first.title
    assert (second.kind, second.summary.mean) == ("value", 1.5)


def test_partial_run_is_left_out_of_the_mean():
    cell = heat_of([row(0, {"a": 1}, seed_run(0, 1.0), seed_run(1, 99.0, "partial"))], "a").rows[0].cells[0]
    assert (cell.summary.mean, cell.summary.n, cell.summary.total) == (1.0, 1, 2)


def test_equal_means_share_the_middle_colour():
    cells = heat_of([row(n, {"a": n}, seed_run(0, 0.5)) for n in range(2)], "a").rows[0].cells
    assert {cell.level for cell in cells} == {5}


def test_many_values_are_combined_into_ranges():
    rows = [row(n, {"a": n, "b": n % 7}, seed_run(0, float(n))) for n in range(100)]
    heat = heat_of(rows, "a", "b")
    assert heat.banded_keys == ["a"] and (len(heat.rows), len(heat.rows[0].cells)) == (8, 7)
    assert sum(cell.summary.total for line in heat.rows for cell in line.cells) == 100


def test_address_of_a_cell_leads_to_its_run_or_to_their_comparison():
    both, single = heat_of(GRID, "a", "b").rows[0].cells[0], heat_of(GRID, "a", "b").rows[1].cells[0]
    assert both.url == "/compare/?run=uid0&run=uid1&show=all"
    assert single.url == "/runs/uid0/"
