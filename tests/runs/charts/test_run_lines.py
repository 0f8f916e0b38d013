import json

import numpy as np
import plotly.graph_objects as go

from runs.charts import ChartOptions
from runs.charts import draw_charts as charts_of
from runs.run_page import plans
from tests.cases import each_case
from tests.runs.sample_curves import curve, unsaved_run


def sections(run, curves, x="step", y="linear"):
    curves_by_key = {c.key: c for c in curves}
    return [
        plan.section(
            chart
            for spec in plan.specs
            for chart in charts_of(run, [spec], curves_by_key, ChartOptions(spec.x or x, y))
        )
        for plan in plans(curves_by_key)
    ]


def draw(run, curves, **options):
    return {c.name: c for s in sections(run, curves, **options) for c in s.charts}


def test_every_figure_is_valid_plotly_and_strict_json():
    run = unsaved_run("grpo-tiny")
    keys = ("reward/mean", "sample/reward/mean", "kl", "kl/k3", "accuracy/contains", "train/loss", "time/step_seconds")
    for chart in draw(run, [curve(run, key, [1, np.nan, np.inf, 2]) for key in keys], y="kl").values():
        go.Figure(chart.figure)
        json.dumps(chart.figure, allow_nan=False)


def test_known_keys_share_charts_and_unknown_keys_do_not():
    run = unsaved_run("es-tiny")
    curves = [curve(run, key, [1, 2]) for key in ("reward/mean", "sample/reward/mean", "train/entropy", "my/own")]
    charts = draw(run, curves)
    assert list(charts) == ["reward", "train/entropy", "my/own"]
    assert charts["reward"].keys == ("reward/mean", "sample/reward/mean")


def test_engine_keys_are_in_sections_training_and_time():
    keys = ("es/update_bytes_per_member", "time/engine_idle_seconds")
    charts_by_section = {
        s.title: s.charts
        for s in sections(unsaved_run("es-tiny"), [curve(unsaved_run("es-tiny"), key, [1, 2]) for key in keys])
    }
    titles = {section: [chart.title for chart in charts] for section, charts in charts_by_section.items()}
    assert titles == {"Training": ["Bytes sent per member"], "Time": ["Idle seconds of engines"]}
    assert all(chart.help for charts in charts_by_section.values() for chart in charts)


def test_sections_without_curves_are_left_out():
    run = unsaved_run("es-tiny")
    assert [s.slug for s in sections(run, [curve(run, "es/dead", [0, 0])])] == ["training"]
    assert sections(run, []) == []


def test_script_keys_are_grouped_by_their_first_part():
    run = unsaved_run("grpo-tiny")
    keys = ("val/loss", "loss", "optim/lr", "train/loss", "val/bpb", "es/dead", "kl/k3", "time/step_seconds")
    names_by_section = {
        s.title: [c.name for c in s.charts] for s in sections(run, [curve(run, key, [1, 2]) for key in keys])
    }
    assert names_by_section["val"] == ["val/loss", "val/bpb"]
    assert names_by_section["optim"] == ["optim/lr"]
    assert names_by_section["Training"] == ["loss", "train/loss", "es/dead"]
    assert list(names_by_section)[-2:] == ["optim", "val"]
    assert sorted(name for names in names_by_section.values() for name in names) == sorted(
        (*keys[:-2], "kl", "time/step_seconds")
    )


def test_overwritten_points_are_grey_and_apart():
    run = unsaved_run("es-tiny")
    resumed = curve(run, "kl", [0, 0.5, 0.3], x=[0, 5, 5], overwritten=[False, True, False])
    chart = draw(run, [resumed])["kl"]
    grey, line = chart.figure["data"]
    assert (grey["meta"]["colour"], grey["x"], grey["y"]) == ("muted", [5], [0.5])
    assert line["y"] == [0, 0.3]
    assert chart.summary.endswith("1 point was overwritten by a resume (grey).")
    assert [row[3] for row in chart.table.rows] == ["", "yes", ""]


def test_a_value_that_never_moves_is_drawn_where_it_is():
    run = unsaved_run("grpo-tiny")
    chart = draw(run, [curve(run, "train/learning_rate", [1e-4] * 5)])["train/learning_rate"]
    low, high = chart.figure["layout"]["yaxis"]["range"]
    assert low < 1e-4 < high < 1e-3


def test_summary_describes_start_and_end_of_the_curve():
    run = unsaved_run("es-tiny")
    chart = draw(run, [curve(run, "reward/mean", [-45.9, -7.2]), curve(run, "sample/reward/mean", [-50, -9])])["reward"]
    assert chart.summary == "Mean rose from −45.9 to −7.20; sampled −9."


@each_case(
    ("mean", "sampled", "summary"),
    [
        ([1, 5, 1.17], [0, 1, 2], "Mean rose from 1 to 1.17, with a maximum of 5 at step 5; sampled 2."),
        ([1, 2, 3], [0, 9, 2], "Mean rose from 1 to 3; sampled 2, with a maximum of 9 at step 5."),
        ([1, 2, 3], [0, -9, 2], "Mean rose from 1 to 3; sampled 2, with a minimum of −9 at step 5."),
    ],
)
def test_summary_has_the_far_extreme_of_each_line(mean, sampled, summary):
    run = unsaved_run("es-tiny")
    curves = [curve(run, "reward/mean", mean), curve(run, "sample/reward/mean", sampled)]
    assert draw(run, curves)["reward"].summary == summary


def test_overwritten_points_are_no_extremes_of_the_summary():
    run = unsaved_run("es-tiny")
    resumed = curve(run, "my/own", [0, 9, 1, 2], x=[0, 5, 5, 10], overwritten=[False, True, False, False])
    assert draw(run, [resumed])["my/own"].summary.startswith("Rose from 0 to 2. ")


def test_safe_ratio_is_in_percent():
    run = unsaved_run("es-tiny")
    chart = draw(run, [curve(run, "safety/safe_ratio", [0.5, 1])])["safety/safe_ratio"]
    assert chart.figure["layout"]["yaxis"]["tickformat"] == ".0%"
    assert chart.summary.replace("\N{NARROW NO-BREAK SPACE}", "") == "Rose from 50% to 100%."


def test_machine_metrics_are_separate_with_a_line_for_each_gpu():
    run = unsaved_run("es-tiny")
    keys = ("system/cpu_cores", "system/memory_gb", "system/free_memory_gb", "system/gpu0/busy", "system/gpu1/busy")
    curves = [curve(run, key, [0.5, 0.7]) for key in keys] + [curve(run, "kl", [0, 1])]
    held_out, section = sections(run, curves)
    assert [chart.name for chart in held_out.charts] == ["kl"]
    charts = {chart.name: chart for chart in section.charts}
    assert list(charts) == ["system/cpu", "system/memory", "system/gpu-busy"]
    assert (
        charts["system/gpu-busy"].summary.replace("\N{NARROW NO-BREAK SPACE}", "")
        == "Gpu0 rose from 50% to 70%; gpu1 70%."
    )
    assert charts["system/memory"].figure["layout"]["meta"] == {
        "x": "relative", "thinned": False, "readout": True, "format": "number",
    }  # fmt: skip


def test_a_share_that_never_moves_is_drawn_between_nothing_and_all():
    run = unsaved_run("es-tiny")
    still = curve(run, "accuracy/right", [0.9, 0.9, 0.9])
    assert draw(run, [still])["accuracy"].figure["layout"]["yaxis"]["range"] == [-0.03, 1.03]


def test_estimates_of_the_training_share_charts():
    run = unsaved_run("grpo-tiny")
    kl = ("train/kl", "train/kl/k1", "train/kl/k2", "train/kl/k3")
    others = ("train/entropy", "train/entropy/sampled", "train/sampling/kl_k1", "train/sampling/kl_k3")
    keys = (*kl, *others, "train/groups/zero_variance")
    (section,) = [s for s in sections(run, [curve(run, key, [1, 2]) for key in keys]) if s.slug == "training"]
    assert [(chart.name, chart.keys) for chart in section.charts] == [
        ("train/kl", kl),
        ("train/entropy", others[:2]),
        ("train/sampling/kl", others[2:]),
        ("train/groups/zero_variance", ("train/groups/zero_variance",)),
    ]


def test_training_without_reference_has_no_chart_of_its_kl():
    run = unsaved_run("grpo-tiny")
    charts = draw(run, [curve(run, key, [1, 2]) for key in ("train/entropy", "train/entropy/sampled")])
    assert list(charts) == ["train/entropy"]
