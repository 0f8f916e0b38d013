"""Figures hold each value with seven digits, and no more points than can be seen."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from runs.charts import ChartOptions, group_charts, groups_of, numbers
from tests.runs.sample_curves import curve, unsaved_run

POINTS = 4_000


@given(
    hnp.arrays(np.float64, st.integers(0, 30), elements=st.floats() | st.floats(-1e9, 1e9) | st.integers(-9999, 9999))
)
@example(np.array([0.0, 9999999.5, 999999.99999999, 1e-15, 1e28, 5e-324, 1.7e308, np.nan, np.inf, -np.inf]))
def test_a_number_is_the_nearest_of_seven_digits(values):
    for number, value in zip(numbers(values), values.tolist(), strict=True):
        if not math.isfinite(value):
            assert number is None
        else:
            assert float(f"{number:.7g}") == number
            assert number == pytest.approx(value, rel=5.000001e-7, abs=0)


def test_any_iterable_of_numbers_will_do():
    assert numbers(value for value in (1, 2.5, float("nan"))) == [1, 2.5, None]


def chart(runs, curves, **options):
    visible, chosen = {r.pk for r in runs}, ChartOptions(**options)
    (chart_of_reward,) = group_charts(groups_of(runs), visible, curves, chosen, ["reward"])
    return chart_of_reward


def noisy(runs, points=POINTS):
    noise = np.random.default_rng(0).normal(size=(len(runs), points))
    return [curve(r, "reward/mean", y) for r, y in zip(runs, noise, strict=True)]


@pytest.fixture
def seeds():
    return [unsaved_run("es-tiny", seed) for seed in range(4)]


def test_band_edges_and_middle_retain_their_visible_corners(seeds):
    curves = noisy(seeds)
    whole, thin = chart(seeds, curves), chart(seeds, curves, px=100)
    area, mean = thin.figure["data"][0], thin.figure["data"][-1]
    assert len(area["x"]) == len(area["y"]) <= 2 * 400
    assert len(mean["x"]) == len(thin.table.rows) <= 400
    for trace, full in ((area, whole.figure["data"][0]), (mean, whole.figure["data"][-1])):
        assert (min(trace["y"]), max(trace["y"])) == (min(full["y"]), max(full["y"]))
        assert set(zip(trace["x"], trace["y"], strict=True)) <= set(zip(full["x"], full["y"], strict=True))
    assert area["x"][0] == area["x"][-1] == 0


def test_a_band_that_falls_into_pieces_does_so_at_every_width(seeds):
    curves = noisy(seeds)
    # Two seeds end early and one begins late: between, one is alone.
    early, late = slice(0, POINTS // 4), slice(3 * POINTS // 4, POINTS)
    parts = zip(seeds, curves, (slice(None), early, early, late), strict=True)
    few = [curve(r, "reward/mean", c.y[part], c.x[part]) for r, c, part in parts]
    for px in (None, 100):
        area = chart(seeds, few, px=px).figure["data"][0]
        gap = area["x"].index(None)
        assert area["y"][gap] is None
        assert area["x"].count(None) == 1
        assert (area["x"][0], max(area["x"][:gap])) == (0, (POINTS // 4 - 1) * 5)
        assert (area["x"][gap + 1], max(area["x"][gap + 1 :])) == (3 * POINTS // 4 * 5, (POINTS - 1) * 5)


def test_only_requested_charts_are_created_in_their_order(seeds):
    charts = group_charts(groups_of(seeds), set(), noisy(seeds, 3), names=["tradeoff", "kl"])
    assert [chart.name for chart in charts] == ["tradeoff", "kl"]
