import json

import numpy as np
import plotly.graph_objects as go

from runs.charts import drawn as charts_of
from runs.run_page import plans
from tests.runs.sample_curves import curve, run


def sections(of, curves, x="step", log_kl=False):
    mine = {c.key: c for c in curves}
    return [
        plan.section(chart for spec in plan.specs for chart in charts_of(of, [spec], mine, spec.x or x, log_kl))
        for plan in plans(mine)
    ]


def drawn(of, curves, **how):
    return {c.name: c for s in sections(of, curves, **how) for c in s.charts}


def test_every_figure_is_valid_plotly_and_strict_json():
    one = run("grpo-tiny")
    keys = ("reward/mean", "sample/reward/mean", "kl", "kl/k3", "accuracy/contains", "train/loss", "time/step_seconds")
    for chart in drawn(one, [curve(one, key, [1, np.nan, np.inf, 2]) for key in keys], log_kl=True).values():
        go.Figure(chart.figure)
        json.dumps(chart.figure, allow_nan=False)


def test_known_keys_share_charts_and_unknown_ones_get_their_own():
    one = run("es-tiny")
    curves = [curve(one, key, [1, 2]) for key in ("reward/mean", "sample/reward/mean", "train/entropy", "my/own")]
    found = drawn(one, curves)
    assert list(found) == ["reward", "train/entropy", "my/own"]
    assert found["reward"].keys == ("reward/mean", "sample/reward/mean")


def test_what_engines_do_is_measured_in_training_and_in_time():
    keys = ("es/update_bytes_per_member", "time/engine_idle_seconds")
    found = {s.title: s.charts for s in sections(run("es-tiny"), [curve(run("es-tiny"), key, [1, 2]) for key in keys])}
    titles = {section: [chart.title for chart in charts] for section, charts in found.items()}
    assert titles == {"Training": ["Bytes sent per member"], "Time": ["Seconds that engines were idle"]}
    assert all(chart.help for charts in found.values() for chart in charts)


def test_sections_without_curves_are_left_out():
    one = run("es-tiny")
    assert [s.slug for s in sections(one, [curve(one, "es/dead", [0, 0])])] == ["training"]
    assert sections(one, []) == []


def test_what_a_script_logs_stands_by_the_first_part_of_its_keys():
    one = run("grpo-tiny")
    keys = ("val/loss", "loss", "optim/lr", "train/loss", "val/bpb", "es/dead", "kl/k3", "time/step_seconds")
    found = {s.title: [c.name for c in s.charts] for s in sections(one, [curve(one, key, [1, 2]) for key in keys])}
    assert found["val"] == ["val/loss", "val/bpb"]
    assert found["optim"] == ["optim/lr"]
    assert found["Training"] == ["loss", "train/loss", "es/dead"]
    assert list(found)[-2:] == ["optim", "val"]
    assert sorted(name for names in found.values() for name in names) == sorted((*keys[:-2], "kl", "time/step_seconds"))


def test_overwritten_points_are_grey_and_apart():
    one = run("es-tiny")
    resumed = curve(one, "kl", [0, 0.5, 0.3], x=[0, 5, 5], overwritten=[False, True, False])
    chart = drawn(one, [resumed])["kl"]
    grey, line = chart.figure["data"]
    assert (grey["meta"]["colour"], grey["x"], grey["y"]) == ("muted", [5], [0.5])
    assert line["y"] == [0, 0.3]
    assert chart.summary.endswith("1 point was overwritten by a resume (grey).")
    assert [row[3] for row in chart.table.rows] == ["", "yes", ""]


def test_a_value_that_never_moves_is_drawn_where_it_is():
    one = run("grpo-tiny")
    chart = drawn(one, [curve(one, "train/learning_rate", [1e-4] * 5)])["train/learning_rate"]
    low, high = chart.figure["layout"]["yaxis"]["range"]
    assert low < 1e-4 < high < 1e-3


def test_the_sentence_says_where_the_curve_came_from_and_got_to():
    one = run("es-tiny")
    chart = drawn(one, [curve(one, "reward/mean", [-45.9, -7.2]), curve(one, "sample/reward/mean", [-50, -9])])[
        "reward"
    ]
    assert chart.summary == "Mean rose from −45.9 to −7.20; sampled −9."


def test_what_the_machine_says_stands_apart_with_a_line_for_each_gpu():
    one = run("es-tiny")
    keys = ("system/cpu_cores", "system/memory_gb", "system/free_memory_gb", "system/gpu0/busy", "system/gpu1/busy")
    curves = [curve(one, key, [0.5, 0.7]) for key in keys] + [curve(one, "kl", [0, 1])]
    held_out, section = sections(one, curves)
    assert [chart.name for chart in held_out.charts] == ["kl"]
    charts = {chart.name: chart for chart in section.charts}
    assert list(charts) == ["system/cpu", "system/memory", "system/gpu-busy"]
    assert (
        charts["system/gpu-busy"].summary.replace("\N{NARROW NO-BREAK SPACE}", "")
        == "Gpu0 rose from 50% to 70%; gpu1 70%."
    )
    assert charts["system/memory"].figure["layout"]["meta"] == {"x": "relative", "thinned": False}


def test_a_share_that_never_moves_is_drawn_between_nothing_and_all():
    one = run("es-tiny")
    still = curve(one, "accuracy/contains", [0.9, 0.9, 0.9])
    assert drawn(one, [still])["accuracy"].figure["layout"]["yaxis"]["range"] == [-0.03, 1.03]
