"""The chart of an ES run's seconds by phase."""

import csv
import io
import json

import numpy as np
import plotly.graph_objects as go
import pytest
from django.urls import reverse

from runs.charts import ChartOptions, draw_charts
from runs.charts.phases import MAX_BARS
from runs.run_page import plans
from tests.cases import each_case
from tests.runs.full_runs import a_bit_of_everything, make_run, record
from tests.runs.sample_curves import curve, unsaved_run
from workers.records import Metric

PHASES = {"noise": 0.5, "prefill": 0.25, "decode": 3.0, "update": 0.25, "engine_idle": 1.0, "scoring": 2.0, "step": 2.5}
GPU = {"system/gpu0/busy": 0.9, "system/gpu0/memory_gb": 60.0, "system/gpu0/watts": 500.0}


def values(scale=1.0):
    """Return what an iteration of two engines records of its time."""
    return {f"time/{name}_seconds": scale * seconds for name, seconds in PHASES.items()} | {
        "es/tokens_per_second": 5400 / scale
    }


def curves_of(run, count, **changes):
    scales = 1 + np.arange(count) % 3
    keys = {key: [values(scale)[key] for scale in scales] for key in values()}
    return {key: curve(run, key, y, x=1 + np.arange(count), **changes) for key, y in keys.items()}


def phases_chart(run, curves, px=600):
    (spec,) = [spec for plan in plans(curves) for spec in plan.specs if spec.name == "time/phases"]
    (chart,) = draw_charts(run, [spec], curves, ChartOptions(px=px))
    return chart


def plain(text):
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ")


@each_case("count", [1, 2, 119, 120, 121, 10_000])
def test_phases_chart_has_at_most_120_bars_of_equal_steps(count):
    run = unsaved_run("es-tiny")
    chart = phases_chart(run, curves_of(run, count))
    go.Figure(chart.figure)
    json.dumps(chart.figure, allow_nan=False)
    bars = {trace["name"]: trace for trace in chart.figure["data"] if trace["type"] == "bar"}
    assert list(bars) == ["decode", "prefill", "noise", "update", "idle"]
    assert len({tuple(trace["x"]) for trace in bars.values()}) == 1
    assert len(bars["decode"]["x"]) == min(count, MAX_BARS)
    assert ("Each bar is the mean of" in chart.summary) == (count > MAX_BARS)
    assert len(chart.table.rows) == len(bars["decode"]["x"])


def test_bars_that_are_unevenly_apart_do_not_touch():
    run = unsaved_run("es-tiny")
    chart = phases_chart(run, {"time/decode_seconds": curve(run, "time/decode_seconds", [1, 2, 3], x=[0, 10, 11])})
    assert chart.figure["data"][0]["width"] == pytest.approx([9, 0.9, 0.9])


def test_phases_chart_describes_the_median_iteration_and_shares():
    run = unsaved_run("es-tiny")
    assert plain(phases_chart(run, curves_of(run, 3)).summary) == (
        "Median iteration 5 s. Median speed 2 700 tokens/s. Engine time: decode 60 %, idle 20 %, noise 10 %, "
        "prefill 5 %, update 5 %. Concurrent scoring: median 4 s."
    )


def test_phases_chart_averages_neighbouring_iterations():
    run = unsaved_run("es-tiny")
    chart = phases_chart(run, curves_of(run, 3 * MAX_BARS))
    decode, *_, scoring = chart.figure["data"]
    assert decode["y"] == [6.0] * MAX_BARS
    assert decode["x"][:2] == [2, 5]
    assert (scoring["type"], scoring["y"][0]) == ("scatter", 4.0)
    assert "Each bar is the mean of up to 3 iterations." in chart.summary


def test_phases_chart_leaves_out_what_a_resume_overwrote():
    run = unsaved_run("es-tiny")
    keys = {"time/decode_seconds": [1, 9, 2], "time/noise_seconds": [1, 9, 2]}
    curves = {key: curve(run, key, y, x=[1, 2, 2], overwritten=[False, True, False]) for key, y in keys.items()}
    decode = phases_chart(run, curves).figure["data"][0]
    assert (decode["x"], decode["y"]) == ([1, 2], [1, 2])


def test_phases_chart_begins_where_an_older_version_stopped():
    run = unsaved_run("es-tiny")
    curves = {
        "time/step_seconds": curve(run, "time/step_seconds", [9, 9, 1, 1], x=[1, 2, 3, 4]),
        "time/decode_seconds": curve(run, "time/decode_seconds", [0.5, 0.7], x=[3, 4]),
        "time/noise_seconds": curve(run, "time/noise_seconds", [0.3], x=[4]),
    }
    chart = phases_chart(run, curves)
    assert [(trace["x"], trace["y"]) for trace in chart.figure["data"]] == [([3, 4], [0.5, 0.7]), ([3, 4], [None, 0.3])]
    assert plain(chart.summary) == "Median iteration 1 s. Engine time: decode 80 %, noise 20 %."


def test_seconds_that_are_all_zero_have_no_shares():
    run = unsaved_run("es-tiny")
    chart = phases_chart(run, {"time/decode_seconds": curve(run, "time/decode_seconds", [0.0, 0.0])})
    assert chart.summary == ""


def test_gpus_are_next_to_the_phases_of_a_run_that_has_some():
    with_phases = {plan.slug: [spec.name for spec in plan.specs] for plan in plans(sorted([*values(), *GPU]))}
    gpus = ["system/gpu-busy", "system/gpu-memory_gb", "system/gpu-watts"]
    assert with_phases == {
        "phases": ["time/phases", "es/tokens_per_second", *gpus],
        "time": ["time/engine_idle_seconds", "time/step_seconds"],
    }
    without = {plan.slug: [spec.name for spec in plan.specs] for plan in plans(["time/step_seconds", *GPU])}
    assert without == {"time": ["time/step_seconds"], "system": gpus}


@pytest.fixture
def es_run(experiment, runs_dir):
    return make_run(experiment)


@pytest.fixture
def page(ada_client, es_run):
    return lambda: ada_client.get(reverse("run-curves", args=[es_run.uid])).content.decode()


@pytest.mark.django_db
def test_a_run_without_phases_has_no_section_for_them(page, es_run):
    record(es_run, a_bit_of_everything())
    assert "section-phases" not in page()


@pytest.mark.django_db
def test_a_page_shows_phases_speed_and_gpus_together(page, es_run):
    record(es_run, [Metric(1, values()), Metric(1, GPU)])
    text = page()
    section = text.partition('id="section-phases"')[2].partition('</details>\n    <details class="section"')[0]
    for chart in ("time-phases", "es-tokens_per_second", "system-gpu-busy", "system-gpu-memory_gb", "system-gpu-watts"):
        assert text.count(f'id="chart-{chart}"') == 1
        assert f'id="chart-{chart}"' in section
    assert 'href="#section-phases"' in text
    assert "decode 60" in section


@pytest.mark.django_db
def test_ten_thousand_iterations_are_bars_and_csv_rows(ada_client, page, es_run):
    record(es_run, [Metric(step, values(1 + step % 3)) for step in range(1, 10_001)])
    assert "Each bar is the mean of up to 84 iterations." in page()
    address = reverse("run-chart", args=[es_run.uid])
    table = ada_client.get(address, {"name": "time/phases", "as": "table"}).content.decode()
    assert table.count("<tr>") == 1 + 120
    file = ada_client.get(address, {"name": "time/phases", "as": "csv"}).content.decode()
    head, *rows = csv.reader(io.StringIO(file))
    assert head == [
        "step", "time/decode_seconds", "time/prefill_seconds", "time/noise_seconds", "time/update_seconds",
        "time/scoring_seconds", "time/engine_idle_seconds", "time/step_seconds", "es/tokens_per_second",
    ]  # fmt: skip
    assert len(rows) == 10_000
    assert [float(cell) for cell in rows[0]] == [1.0, 6.0, 0.5, 1.0, 0.5, 4.0, 2.0, 5.0, 2700.0]
