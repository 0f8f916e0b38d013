"""λ's charts: J_C raw and smoothed with its threshold on one, and the way through (J_C, λ)."""

from __future__ import annotations

import numpy as np

from runs.charts import ChartOptions, marks
from runs.experiments.lambda_page.charts import multiplier_charts
from tests.runs.sample_curves import curve, unsaved_run


def draw(runs, **values):
    """Return the charts of these runs, each with the same values of keys, by name."""
    keys = {
        "safe": "safety/safe_ratio",
        "lambda": "lambda",
        "j_c": "J_C",
        "smoothed": "J_C/smoothed",
        "threshold": "J_C/threshold",
    }
    curves = {(run.pk, keys[name]): curve(run, keys[name], y) for run in runs for name, y in values.items()}
    return {chart.name: chart for chart in multiplier_charts(marks(runs), curves, ChartOptions())}


def test_raw_smoothed_and_threshold_share_one_chart():
    run = unsaved_run("es-tiny")
    chart = draw([run], j_c=[2, 0, 1], smoothed=[2, 1.8, 1.7], threshold=[0, 0, 0])["J_C"]
    lines = [(t["name"], t["line"]["width"], t["y"]) for t in chart.figure["data"] if t["mode"] != "text"]
    name = f"A · {run.name}"
    assert lines == [
        (f"{name}, raw", 1, [2, 0, 1]), ("threshold", 1.5, [0, 0]), (name, 2, [2, 1.8, 1.7]),
    ]  # fmt: skip
    assert chart.keys == ("J_C/smoothed", "J_C", "J_C/threshold")
    assert {row[0] for row in chart.table.rows} == set(chart.keys)


def test_the_points_of_both_arrive_live():
    chart = draw([unsaved_run("es-tiny")], j_c=[2, 0], smoothed=[2, 1])["J_C"]
    assert {t["meta"]["key"] for t in chart.figure["data"] if t.get("meta", {}).get("key")} == {"J_C", "J_C/smoothed"}


def test_unsmoothed_values_are_drawn_as_measured():
    chart = draw([unsaved_run("es-tiny")], j_c=[2, 0, 1])["J_C"]
    assert [t["y"] for t in chart.figure["data"] if t["mode"] != "text"] == [[2, 0, 1]]


def test_safe_ratio_is_in_percent_on_axis_and_in_summary():
    chart = draw([unsaved_run("es-tiny")], safe=[0.5, 1])["safety/safe_ratio"]
    assert chart.figure["layout"]["yaxis"]["tickformat"] == ".0%"
    assert chart.summary.replace("\N{NARROW NO-BREAK SPACE}", "") == "A rose from 50% to 100%."


def test_thresholds_that_differ_have_a_line_each():
    first, second = unsaved_run("es-tiny"), unsaved_run("grpo-tiny")
    curves = {
        (run.pk, "J_C/threshold"): curve(run, "J_C/threshold", y) for run, y in ((first, [0, 0]), (second, [1, 1]))
    }
    curves |= {(run.pk, "J_C"): curve(run, "J_C", [1, 2]) for run in (first, second)}
    chart = next(c for c in multiplier_charts(marks([first, second]), curves, ChartOptions()) if c.name == "J_C")
    dotted = [t for t in chart.figure["data"] if t.get("line", {}).get("dash") == "dot" and "threshold" in t["name"]]
    assert [(t["meta"]["colour"], t["y"]) for t in dotted] == [("es", [0, 0]), ("grpo", [1, 1])]


def test_es_and_grpo_keep_their_colours_on_the_phase_plot():
    chart = draw([unsaved_run("es-tiny"), unsaved_run("grpo-tiny")], **{"lambda": [1, 2, 2.5]}, smoothed=[3, 1, -1])[
        "phase"
    ]
    ways = [(t["meta"]["colour"], t["x"], t["y"]) for t in chart.figure["data"] if t["mode"] == "lines"]
    assert ways == [("es", [3, 1, -1], [1, 2, 2.5]), ("grpo", [3, 1, -1], [1, 2, 2.5])]
    assert chart.summary == "A ends at λ 2.50, J_C −1; B ends at λ 2.50, J_C −1."
    assert chart.table.rows[0][2:] == (3, 1)


def test_threshold_is_vertical_on_the_phase_plot():
    chart = draw([unsaved_run("es-tiny")], **{"lambda": [1, 3, 2]}, j_c=[3, 1, -1], threshold=[0.5] * 3)["phase"]
    edge = chart.figure["data"][0]
    assert (edge["name"], edge["x"], edge["y"]) == ("threshold", [0.5, 0.5], [1, 3])


def test_the_way_has_only_steps_at_which_both_were_measured():
    run = unsaved_run("es-tiny")
    curves = {
        (run.pk, "lambda"): curve(run, "lambda", [1, 2, 3], x=[0, 5, 10]),
        (run.pk, "J_C"): curve(run, "J_C", [4, np.nan], x=[5, 10]),
    }
    phase = multiplier_charts(marks([run]), curves, ChartOptions())[-1]
    assert phase.table.rows == (("A", run.name, 4.0, 2.0),)


def test_charts_without_values_report_it():
    charts = draw([unsaved_run("es-tiny")])
    assert charts["phase"].summary == "This run has no values for this chart yet."
    assert all(chart.is_empty for chart in charts.values())
