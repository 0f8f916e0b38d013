import json

import plotly.graph_objects as go
import pytest

from runs.charts import Look, groups_of
from runs.compare.charts.methods import compare
from tests.runs.sample_curves import curve, run


@pytest.fixture
def seeds():
    return [run("es-tiny", 0), run("es-tiny", 1), run("grpo-tiny", 0)]


def measured(runs):
    keys = {"reward/mean": (-40, -20, -10), "kl": (0, 0.1, 0.2), "accuracy/contains": (0.9, 0.8, 0.7)}
    return [curve(r, key, [v + i for v in y]) for i, r in enumerate(runs) for key, y in keys.items()]


def charts(runs, curves, shown=None, **how):
    ids = {r.pk for r in runs} if shown is None else shown
    return {c.name: c for c in compare(groups_of(runs), ids, curves, Look(**how))}


def test_every_figure_is_valid_plotly_and_strict_json(seeds):
    for chart in charts(seeds, measured(seeds), log_kl=True).values():
        go.Figure(chart.figure)
        json.dumps(chart.figure, allow_nan=False)


def test_there_is_a_thin_line_a_seed_and_a_mean_with_its_band(seeds):
    figure = charts(seeds, measured(seeds))["reward"].figure
    names = [trace["name"] for trace in figure["data"]]
    assert names == ["es-tiny, min–max", "es-tiny 0", "es-tiny 1", "es-tiny (n = 2)", "grpo-tiny (n = 1)"]
    mean = figure["data"][3]
    assert mean["y"] == [-39.5, -19.5, -9.5]


def test_a_mean_that_came_back_to_where_it_began_is_not_said_to_have_stayed_there(seeds):
    there_and_back = [curve(seed, "reward/mean", [-5, -1, -5]) for seed in seeds]
    said = charts(seeds, there_and_back)["reward"].summary
    assert said.startswith("es-tiny began and ended at −5, between −5 and −1 (n = 2)")


def test_a_mean_does_not_depend_on_which_runs_are_shown(seeds):
    all_shown = charts(seeds, measured(seeds))["reward"]
    one_shown = charts(seeds, measured(seeds), shown={seeds[0].pk})["reward"]
    assert all_shown.summary == one_shown.summary
    assert all_shown.table == one_shown.table
    assert [t["y"] for t in all_shown.figure["data"] if "n = 2" in t["name"]] == [
        t["y"] for t in one_shown.figure["data"] if "n = 2" in t["name"]
    ]
    assert "es-tiny 1" not in [t["name"] for t in one_shown.figure["data"]]


def test_the_sentence_says_direction_and_n(seeds):
    found = charts(seeds, measured(seeds))
    assert found["reward"].summary == (
        "es-tiny rose from −39.5 to −9.50 (n = 2); grpo-tiny rose from −38 to −8 (n = 1)."
    )


def test_accuracy_is_said_in_percent():
    one = run("es-tiny")
    summary = charts([one], [curve(one, "accuracy/contains", [0.94, 0.02])])["accuracy"].summary
    assert summary == "es-tiny fell from 94\N{NARROW NO-BREAK SPACE}% to 2\N{NARROW NO-BREAK SPACE}% (n = 1)."


def test_the_lines_of_a_method_carry_its_token_and_live_ones_their_run_and_key(seeds):
    data = charts(seeds, measured(seeds))["kl"].figure["data"]
    assert {t["meta"]["colour"] for t in data} == {"es", "grpo"}
    live = [t["meta"] for t in data if "run" in t["meta"]]
    assert [(m["run"], m["key"]) for m in live] == [(r.uid, "kl") for r in seeds]


def test_overwritten_points_do_not_count():
    one = run("es-tiny")
    resumed = curve(one, "reward/mean", [-40, -5, -30], x=[0, 5, 5], overwritten=[False, True, False])
    trace = charts([one], [resumed])["reward"].figure["data"][0]
    assert (trace["x"], trace["y"]) == ([0, 5], [-40, -30])


def test_the_table_holds_every_point_of_every_mean(seeds):
    table = charts(seeds, measured(seeds))["reward"].table
    assert table.columns == ("group", "n", "step", "mean", "low", "high", "band", "measured")
    assert table.rows[0] == ("es-tiny", 2, 0.0, -39.5, -40.0, -39.0, "min–max", None)
    assert len(table.rows) == 6


def test_csv_does_not_run_as_a_formula():
    one = run("es-tiny")
    one.preset = "=cmd()"
    text = charts([one], [curve(one, "reward/mean", [1])])["tradeoff"].table.csv()
    assert text.splitlines() == ["group,run,kl,reward,measured kl,measured reward"]
    text = charts([one], [curve(one, "reward/mean", [1]), curve(one, "kl", [0])])["tradeoff"].table.csv()
    assert "\n=" not in text


def test_kl_can_be_logarithmic_and_nothing_else_is(seeds):
    found = charts(seeds, measured(seeds), log_kl=True)
    types = {name: found[name].figure["layout"]["yaxis"].get("type") for name in ("reward", "kl", "accuracy")}
    assert types == {"reward": None, "kl": "log", "accuracy": None}
    assert found["tradeoff"].figure["layout"]["xaxis"]["type"] == "log"


def test_a_path_joins_reward_and_kl_of_the_same_steps():
    one = run("es-tiny")
    curves = [curve(one, "reward/mean", [-40, -20, -10]), curve(one, "kl", [0, 0.2], x=[0, 10])]
    trace = charts([one], curves)["tradeoff"].figure["data"][0]
    assert (trace["x"], trace["y"]) == ([0, 0.2], [-40, -10])


def test_nothing_measured_is_an_empty_chart_that_says_so(seeds):
    for chart in charts(seeds, []).values():
        assert chart.is_empty
        assert chart.summary == "No evaluation yet."


def test_a_zero_is_a_gap_on_a_logarithmic_axis(seeds):
    found = charts(seeds, measured(seeds), log_kl=True)
    first = next(t for t in found["kl"].figure["data"] if t["name"] == "es-tiny 0")
    assert first["y"] == [None, 0.1, 0.2]
    assert found["tradeoff"].figure["data"][0]["x"] == [None, 0.1, 0.2]
    assert found["kl"].summary.startswith("es-tiny rose from 0.5")
