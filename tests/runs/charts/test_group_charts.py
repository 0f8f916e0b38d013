import json
import math

import plotly.graph_objects as go
import pytest

from runs.charts import ChartOptions, group_charts, groups_of
from tests.cases import each_case
from tests.runs.sample_curves import curve, unsaved_run


@pytest.fixture
def seeds():
    return [unsaved_run("es-tiny", 0), unsaved_run("es-tiny", 1), unsaved_run("grpo-tiny", 0)]


def measured(runs):
    keys = {"reward/mean": (-40, -20, -10), "kl": (0, 0.1, 0.2), "accuracy/contains": (0.9, 0.8, 0.7)}
    return [curve(r, key, [v + i for v in y]) for i, r in enumerate(runs) for key, y in keys.items()]


def charts(runs, curves, visible=None, **options):
    ids = {r.pk for r in runs} if visible is None else visible
    return {c.name: c for c in group_charts(groups_of(runs), ids, curves, ChartOptions(**options))}


def test_every_figure_is_valid_plotly_and_strict_json(seeds):
    for chart in charts(seeds, measured(seeds), y="kl").values():
        go.Figure(chart.figure)
        json.dumps(chart.figure, allow_nan=False)


def test_chart_has_a_line_for_each_seed_and_a_mean_with_band(seeds):
    figure = charts(seeds, measured(seeds))["reward"].figure
    names = [trace["name"] for trace in figure["data"]]
    assert names == ["es-tiny, min–max", "es-tiny 0", "es-tiny 1", "es-tiny (n = 2)", "grpo-tiny (n = 1)"]
    mean = figure["data"][3]
    assert mean["y"] == [-39.5, -19.5, -9.5]


def test_mean_that_returned_to_its_start_did_not_stay(seeds):
    there_and_back = [curve(seed, "reward/mean", [-5, -1, -5]) for seed in seeds]
    summary = charts(seeds, there_and_back)["reward"].summary
    assert summary.startswith("es-tiny began and ended at −5, between −5 and −1 (n = 2)")


def test_mean_far_outside_of_its_ends_has_an_extreme(seeds):
    peaked = [curve(seed, "reward/mean", [1, 5, 1.17]) for seed in seeds]
    summary = charts(seeds, peaked)["reward"].summary
    assert summary.startswith("es-tiny rose from 1 to 1.17, with a maximum of 5 at step 5 (n = 2)")


def test_a_mean_does_not_depend_on_which_runs_are_shown(seeds):
    all_shown = charts(seeds, measured(seeds))["reward"]
    one_shown = charts(seeds, measured(seeds), visible={seeds[0].pk})["reward"]
    assert all_shown.summary == one_shown.summary
    assert all_shown.table == one_shown.table
    assert [t["y"] for t in all_shown.figure["data"] if "n = 2" in t["name"]] == [
        t["y"] for t in one_shown.figure["data"] if "n = 2" in t["name"]
    ]
    assert "es-tiny 1" not in [t["name"] for t in one_shown.figure["data"]]


def test_summary_has_direction_and_n(seeds):
    charts_by_name = charts(seeds, measured(seeds))
    assert charts_by_name["reward"].summary == (
        "es-tiny rose from −39.5 to −9.50 (n = 2); grpo-tiny rose from −38 to −8 (n = 1)."
    )


@each_case(
    ("key", "name", "high", "low"),
    [
        ("reward/mean", "reward", "Best", "Worst"),
        ("kl", "kl", "Highest", "Lowest"),
        ("my/own", "my/own", "Highest", "Lowest"),
    ],
)
def test_summary_of_many_groups_describes_those_with_the_extreme_last_values(key, name, high, low):
    runs = [unsaved_run(preset) for preset in ("es-tiny", "es-micro", "grpo-tiny", "grpo-micro", "es-tiny-full")]
    ends = [3, 5, 4, math.nan, 1]
    curves = [curve(run, key, [2, end]) for run, end in zip(runs, ends, strict=True)]
    chart = group_charts(groups_of(runs), {run.pk for run in runs}, curves, names=[name])[0]
    assert chart.summary == (
        f"5 groups. {high} last value: es-micro rose from 2 to 5 (n = 1). "
        f"{low} last value: es-tiny-full fell from 2 to 1 (n = 1)."
    )
    assert {row[0] for row in chart.table.rows} == {run.preset for run in runs}


def test_summary_of_four_groups_describes_each():
    runs = [unsaved_run(preset) for preset in ("es-tiny", "es-micro", "grpo-tiny", "grpo-micro")]
    summary = charts(runs, [curve(run, "kl", [1, 2]) for run in runs])["kl"].summary
    assert all(f"{run.preset} rose from 1 to 2" in summary for run in runs)


def test_accuracy_is_written_in_percent():
    run = unsaved_run("es-tiny")
    summary = charts([run], [curve(run, "accuracy/contains", [0.94, 0.02])])["accuracy"].summary
    assert summary == "es-tiny fell from 94\N{NARROW NO-BREAK SPACE}% to 2\N{NARROW NO-BREAK SPACE}% (n = 1)."


def test_lines_have_method_colours_and_live_keys(seeds):
    data = charts(seeds, measured(seeds))["kl"].figure["data"]
    assert {t["meta"]["colour"] for t in data} == {"es", "grpo"}
    live = [t["meta"] for t in data if "run" in t["meta"]]
    assert [(m["run"], m["key"]) for m in live] == [(r.uid, "kl") for r in seeds]


def test_overwritten_points_do_not_count():
    run = unsaved_run("es-tiny")
    resumed = curve(run, "reward/mean", [-40, -5, -30], x=[0, 5, 5], overwritten=[False, True, False])
    trace = charts([run], [resumed])["reward"].figure["data"][0]
    assert (trace["x"], trace["y"]) == ([0, 5], [-40, -30])


def test_the_table_holds_every_point_of_every_mean(seeds):
    table = charts(seeds, measured(seeds))["reward"].table
    assert table.columns == ("group", "n", "step", "mean", "low", "high", "band", "measured")
    assert table.rows[0] == ("es-tiny", 2, 0.0, -39.5, -40.0, -39.0, "min–max", None)
    assert len(table.rows) == 6


def test_csv_does_not_run_as_a_formula():
    run = unsaved_run("es-tiny")
    run.preset = "=cmd()"
    text = charts([run], [curve(run, "reward/mean", [1])])["tradeoff"].table.csv()
    assert text.splitlines() == ["group,run,kl,reward,measured kl,measured reward"]
    text = charts([run], [curve(run, "reward/mean", [1]), curve(run, "kl", [0])])["tradeoff"].table.csv()
    assert "\n=" not in text


def test_kl_can_be_logarithmic_and_nothing_else_is(seeds):
    charts_by_name = charts(seeds, measured(seeds), y="kl")
    types = {name: charts_by_name[name].figure["layout"]["yaxis"].get("type") for name in ("reward", "kl", "accuracy")}
    assert types == {"reward": None, "kl": "log", "accuracy": None}
    assert charts_by_name["tradeoff"].figure["layout"]["xaxis"]["type"] == "log"


def test_a_path_joins_reward_and_kl_of_the_same_steps():
    run = unsaved_run("es-tiny")
    curves = [curve(run, "reward/mean", [-40, -20, -10]), curve(run, "kl", [0, 0.2], x=[0, 10])]
    trace = charts([run], curves)["tradeoff"].figure["data"][0]
    assert (trace["x"], trace["y"]) == ([0, 0.2], [-40, -10])


def test_paths_of_many_groups_describe_those_with_the_extreme_rewards():
    runs = [unsaved_run(preset) for preset in ("es-tiny", "es-micro", "grpo-tiny", "grpo-micro", "es-tiny-full")]
    rewards = (-5, -9, -1, -2, -4)
    curves = [curve(run, "reward/mean", [-40, last]) for run, last in zip(runs, rewards, strict=True)]
    curves += [curve(run, "kl", [0, 0.2]) for run in runs]
    assert charts(runs, curves)["tradeoff"].summary == (
        "5 groups. Best last value: grpo-tiny is at reward −1, KL 0.200 (n = 1). "
        "Worst last value: es-micro is at reward −9, KL 0.200 (n = 1)."
    )


def test_chart_without_values_is_empty_and_reports_it(seeds):
    for chart in charts(seeds, []).values():
        assert chart.is_empty
        assert chart.summary == "These runs have no values for this chart yet."


def test_a_zero_is_a_gap_on_a_logarithmic_axis(seeds):
    charts_by_name = charts(seeds, measured(seeds), y="kl")
    first = next(t for t in charts_by_name["kl"].figure["data"] if t["name"] == "es-tiny 0")
    assert first["y"] == [None, 0.1, 0.2]
    assert charts_by_name["tradeoff"].figure["data"][0]["x"] == [None, 0.1, 0.2]
    assert charts_by_name["kl"].summary.startswith("es-tiny rose from 0.5")
