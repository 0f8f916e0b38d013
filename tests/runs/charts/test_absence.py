"""Empty charts say why they are empty; only runs that have not finished may still record values."""

from runs.charts import (
    ChartOptions,
    Spec,
    default_charts,
    draw_charts,
    explain_absence,
    group_charts,
    groups_of,
    leave_out_empty,
)
from tests.cases import each_case
from tests.runs.sample_curves import curve, unsaved_run

REWARD, KL, SAFE, COST = "reward/mean", "kl", "safety/safe_ratio", "cost/mean"


def run_in(state, name="es-tiny", seed=0):
    run = unsaved_run(name, seed)
    run.state = state
    return run


@each_case(
    ("states", "sentence"),
    [
        (("running",), "This run has no values for this chart yet."),
        (("failed", "queued"), "These runs have no values for this chart yet."),
        (("succeeded",), "This run ended without values for this chart."),
        (("failed", "succeeded"), "These runs ended without values for this chart."),
    ],
)
def test_only_an_unfinished_run_may_still_record_values(states, sentence):
    runs = [run_in(state, seed=seed) for seed, state in enumerate(states)]
    charts = group_charts(groups_of(runs), [run.pk for run in runs], [], ChartOptions())
    assert {chart.summary for chart in charts} == {sentence}


def test_values_without_positions_along_the_axis_are_no_missing_values():
    assert explain_absence([KL], [run_in("succeeded")], (), "tokens") == "There are no values along this x axis."


def test_values_that_are_not_finite_are_named():
    run = run_in("succeeded")
    nan = [curve(run, KL, [float("nan")])]
    (chart,) = group_charts(groups_of([run]), [run.pk], nan, names=["kl"])
    assert "yet" not in chart.summary
    pair = {(run.pk, KL), (run.pk, REWARD)}
    assert explain_absence([KL, REWARD], [run], pair) == "No step has finite values of both metrics."


def test_default_charts_follow_the_tasks_of_open_runs():
    assert default_charts([run_in("running")], ()) == ["reward", "kl", "right", "tradeoff"]
    assert default_charts([run_in("running", "es-safety-tiny")], ()) == ["reward", "kl", SAFE, COST, "tradeoff"]


def test_default_charts_of_finished_runs_are_those_with_values():
    runs = [run_in("succeeded", "es-safety-tiny")]
    assert default_charts(runs, [REWARD, SAFE, COST, "es/dead"]) == ["reward", SAFE, COST]
    assert default_charts(runs, ()) == ["reward"]


def test_empty_charts_are_left_out_only_if_they_stay_empty():
    run = run_in("succeeded")
    charts = group_charts(groups_of([run]), [run.pk], [curve(run, KL, [0, 1])], names=["reward", "kl"])
    assert [chart.name for chart in leave_out_empty(charts, [run], "step")] == ["kl"]
    assert [chart.name for chart in leave_out_empty(charts[:1], [run], "step")] == ["reward"]
    assert len(leave_out_empty(charts, [run], "tokens")) == 2
    run.state = "running"
    assert len(leave_out_empty(charts, [run], "step")) == 2


def test_chart_of_zeros_is_zero():
    run = run_in("running")

    def draw(values):
        (chart,) = draw_charts(run, [Spec("dead", "Dead", "", (("es/dead", "dead"),))], {"es/dead": values})
        return chart

    assert draw(curve(run, "es/dead", [0, 0, 0])).is_zero
    assert not draw(curve(run, "es/dead", [0, 1, 0])).is_zero


def test_memory_has_its_unit_in_sentences():
    run = run_in("running")
    (chart,) = group_charts(
        groups_of([run]), [run.pk], [curve(run, "system/memory_gb", [1, 2.5])], names=["system/memory_gb"]
    )
    assert "from 1\N{NARROW NO-BREAK SPACE}GB to 2.50\N{NARROW NO-BREAK SPACE}GB" in chart.summary
    assert chart.figure["layout"]["yaxis"]["title"]["text"] == "GB"
