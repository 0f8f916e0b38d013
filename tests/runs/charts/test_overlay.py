import json

import numpy as np
import plotly.graph_objects as go
import pytest

from runs.charts import THIN, ChartOptions, marks, overlay
from tests.cases import each_case
from tests.runs.sample_curves import curve, unsaved_run
from workers.analysis.smoothing import Smoothing


@pytest.fixture
def runs():
    return [unsaved_run("es-tiny", 0), unsaved_run("grpo-tiny", 0), unsaved_run("es-tiny", 1)]


def draw(runs, curves, key="reward/mean", **options):
    return overlay(key, marks(runs), {(c.run_id, c.key): c for c in curves}, ChartOptions(**options))


def rising(runs, key="reward/mean"):
    return [curve(r, key, [-40 + i, -20 + i, -10 + i]) for i, r in enumerate(runs)]


@each_case(
    "options",
    [
        {},
        {"smoothing": Smoothing("ema", 0.6)},
        {"smoothing": Smoothing("median", 3)},
        {"y": "log"},
        {"x": "wall"},
        {"px": 2},
    ],
)
def test_every_figure_is_valid_plotly_and_strict_json(runs, options):
    chart = draw(runs, rising(runs), **options)
    go.Figure(chart.figure)
    json.dumps(chart.figure, allow_nan=False)


def test_run_has_a_line_and_a_letter_at_its_end(runs):
    ends = [curve(r, "reward/mean", [-40, -20 + 8 * i]) for i, r in enumerate(runs)]
    *lines, letters = draw(runs, ends).figure["data"]
    assert [t["meta"]["colour"] for t in lines] == ["es", "grpo", "es"]
    assert [t["name"] for t in lines] == ["A · es-tiny 0", "B · grpo-tiny 0", "C · es-tiny 1"]
    assert {t["line"]["dash"] for t in lines} == {"solid", "dash"}
    assert [t["marker"]["symbol"] for t in lines] == ["circle", "square", "circle"]
    assert (letters["text"], letters["x"], letters["y"]) == ([" A", " B", " C"], [5.0] * 3, [-20.0, -12.0, -4.0])


def test_letters_of_lines_with_the_same_end_are_joined(runs):
    many = [*runs, *(unsaved_run("es-tiny", seed) for seed in range(2, 6))]
    together = [curve(r, "reward/mean", [-40, -10 + i / 100]) for i, r in enumerate(many)]
    assert draw(many, together).figure["data"][-1]["text"] == [" A B C D +3"]
    apart = [curve(r, "reward/mean", [-40, -10], x=[0, 10 * i + 10]) for i, r in enumerate(runs)]
    assert draw(runs, apart).figure["data"][-1]["text"] == [" A", " B", " C"]


@pytest.mark.parametrize(("log_y", "texts"), [(False, [" A B", " C"]), (True, [" A", " B", " C"])])
def test_letters_are_joined_by_distance_on_the_scale(runs, log_y, texts):
    ends = [curve(r, "kl", [1e-4, y]) for r, y in zip(runs, (1e-3, 1e-2, 1.0), strict=True)]
    assert draw(runs, ends, "kl", y="log" if log_y else "linear").figure["data"][-1]["text"] == texts


def test_letters_continue_after_z():
    assert [m.letter for m in marks([unsaved_run("es-tiny", i) for i in range(28)])][-3:] == ["Z", "AA", "AB"]


def test_smoothed_line_is_drawn_with_the_raw_one(runs):
    raw, smoothed, _ = draw(runs[:1], rising(runs[:1]), smoothing=Smoothing("ema", 0.5)).figure["data"]
    assert raw["y"] == [-40, -20, -10]
    assert smoothed["y"] == pytest.approx([-40, (-20 - 40 * 0.5) / 1.5, (-10 - 20 * 0.5 - 40 * 0.25) / 1.75])
    assert (raw["meta"]["key"], raw["hoverinfo"]) == ("reward/mean", "skip")
    assert "key" not in smoothed["meta"]


def test_smoothing_sees_every_point_however_few_are_drawn(runs):
    y = np.random.default_rng(0).normal(size=5000)
    points = [curve(runs[0], "kl", y)]
    every = draw(runs[:1], points, "kl", smoothing=Smoothing("ema", 0.9)).table
    few = draw(runs[:1], points, "kl", smoothing=Smoothing("ema", 0.9), px=50).table
    assert len(few.rows) < 500
    assert set(few.rows) < set(every.rows)


def test_values_outside_a_logarithmic_scale_are_counted(runs):
    chart = draw(runs[:1], [curve(runs[0], "kl", [0, 0.1, 0.2])], "kl", y="log")
    assert chart.figure["data"][0]["y"] == [None, 0.1, 0.2]
    assert chart.figure["layout"]["yaxis"]["type"] == "log"
    assert chart.summary.endswith("1 value is not above 0 and not drawn on this scale.")


def test_scale_without_positive_values_stays_linear_and_reports_it(runs):
    chart = draw(runs, rising(runs), y="log")
    assert "type" not in chart.figure["layout"]["yaxis"]
    assert chart.summary.endswith("Drawn on a linear scale: no value is above 0.")


def test_summary_names_few_lines_singly_and_many_by_group(runs):
    assert draw(runs[:2], rising(runs[:2])).summary == "A rose from −40 to −10; B rose from −39 to −9."
    more = [*runs, unsaved_run("es-tiny", 2)]
    assert draw(more, rising(more)).summary == "es-tiny ends at −10 to −7 (n = 3); grpo-tiny ends at −9 (n = 1)."


def test_summary_of_many_groups_names_their_number_the_best_and_the_worst():
    runs = [unsaved_run("es-tiny", sigma=sigma / 10) for sigma in range(1, 7)]
    curves = [curve(run, "reward/mean", [-9, n]) for n, run in enumerate(runs)]
    assert draw(runs, curves).summary == (
        "6 groups. Best last value: es-tiny, sigma 0.6 ends at 5 (n = 1)."
        " Worst last value: es-tiny, sigma 0.1 ends at 0 (n = 1)."
    )


SHARES = ("accuracy/contains", "safety/safe_ratio")


@each_case("key", SHARES)
@each_case(
    ("number_of_runs", "summary"),
    [
        (2, "A rose from 50% to 100%; B rose from 50% to 100%."),
        (4, "es-tiny ends at 100% (n = 3); grpo-tiny ends at 100% (n = 1)."),
    ],
)
def test_summary_is_in_percent_if_the_axis_is(runs, key, number_of_runs, summary):
    more = [*runs, unsaved_run("es-tiny", 2)][:number_of_runs]
    chart = draw(more, [curve(run, key, [0.5, 1]) for run in more], key)
    assert chart.figure["layout"]["yaxis"]["tickformat"] == ".0%"
    assert chart.summary.replace(THIN, "") == summary


@pytest.mark.parametrize("key", ["reward/mean", "cost/mean"])
def test_summary_of_other_keys_is_not_in_percent(runs, key):
    chart = draw(runs[:1], [curve(runs[0], key, [0.5, 1])], key)
    assert "tickformat" not in chart.figure["layout"]["yaxis"]
    assert chart.summary == "A rose from 0.500 to 1."


@each_case(
    ("y", "words"),
    [
        ([[0, 9, 1]] * 2, "ends at 1 (n = 2), with a maximum of 9 at step 5"),
        ([[0, -9, 1]] * 2, "ends at 1 (n = 2), with a minimum of −9 at step 5"),
        ([[0, 9, 1], [0, 1, 2]], "ends at 1 to 2 (n = 2), with a maximum of 9 at step 5"),
        ([[0, 9, 1], [0, -20, 2]], "ends at 1 to 2 (n = 2), with a minimum of −20 at step 5"),
        ([[0, 0, 1], [0, 1, 2]], "ends at 1 to 2 (n = 2)"),
    ],
)
def test_summary_of_a_group_has_its_farthest_extreme(runs, y, words):
    grpo = [unsaved_run("grpo-tiny", seed) for seed in (1, 2)]
    still = [curve(run, "kl", [1, 1, 1]) for run in grpo]
    group = [unsaved_run("es-tiny", seed) for seed in (1, 2)]
    curves = [curve(run, "kl", values) for run, values in zip(group, y, strict=True)]
    assert draw([*group, *grpo], [*curves, *still], "kl").summary == f"es-tiny {words}; grpo-tiny ends at 1 (n = 2)."


def test_summary_of_a_line_has_its_extreme_on_the_x_axis(runs):
    curves = [curve(runs[0], "kl", [1, 5, 1.17], x=[0, 40_000, 80_000])]
    summary = draw(runs[:1], curves, "kl", x="tokens").summary
    assert summary.replace(THIN, "") == "A rose from 1 to 1.17, with a maximum of 5 at 40000 tokens."


def test_times_of_day_keep_their_milliseconds(runs):
    at = [1_700_000_000.125, 1_700_000_060.5]
    figure = draw(runs[:1], [curve(runs[0], "kl", [1, 2], x=at)], "kl", x="wall").figure
    assert figure["data"][0]["x"] == [1_700_000_000_125, 1_700_000_060_500]
    assert figure["layout"]["xaxis"]["type"] == "date"


def test_nan_is_a_gap_and_never_a_last_value(runs):
    chart = draw(runs[:1], [curve(runs[0], "reward/mean", [-40, -20, float("nan")])])
    assert chart.figure["data"][0]["y"] == [-40, -20, None]
    assert chart.summary == "A rose from −40 to −20."


def test_a_run_that_measured_nothing_has_no_line(runs):
    chart = draw(runs, [])
    assert (chart.is_empty, chart.summary) == (True, "These runs have no values for this chart yet.")
    assert len(draw(runs, rising(runs[:1])).figure["data"]) == 2
    assert draw(runs[:1], [curve(runs[0], "kl", [float("nan")])], "kl").figure["data"][1:] == []


def test_the_table_names_run_group_and_seed(runs):
    table = draw(runs, rising(runs)).table
    assert table.columns == ("letter", "run", "group", "seed", "step", "value", "measured")
    assert table.rows[3] == ("B", "grpo-tiny 0", "grpo-tiny", 0, 0.0, -39.0, None)
    smoothed = draw(runs, rising(runs), smoothing=Smoothing("ema", 0.6)).table
    assert smoothed.columns[-2:] == ("smoothed 0.6", "measured") and len(smoothed.rows[0]) == len(smoothed.columns)


def test_table_of_a_training_key_has_no_provenance(runs):
    table = draw(runs, rising(runs, "train/loss"), "train/loss").table
    assert table.columns[-1] == "value" and len(table.rows[0]) == len(table.columns)
