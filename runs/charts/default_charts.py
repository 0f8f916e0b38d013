"""Charts that a page of several runs shows first: those of the headline metrics of the runs' tasks."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from runs.charts.chart import Chart
from runs.charts.group_charts import TRADEOFF
from runs.metrics import HEADLINE_KEYS, MEASURES, has_task_metrics, headline_metrics, resolve_fallbacks, task_of
from runs.metrics.catalogue import Metric
from runs.models import Run
from workers.analysis.keys import KL, REWARD


def default_measures(runs: Sequence[Run], recorded: Collection[str]) -> list[Metric]:
    """Return the measures that are among the recorded keys, or that an unfinished run may still record.

    The reward alone if there are none, so that a page has a chart that says why.
    """
    keys = {key for key in recorded if key in HEADLINE_KEYS}
    for run in runs:
        if run.is_open:
            keys |= expected_keys(run)
    keys = set(resolve_fallbacks(keys, recorded))
    return [measure for measure in MEASURES if measure.key in keys or (not keys and measure.key == REWARD)]


def default_charts(runs: Sequence[Run], recorded: Collection[str]) -> list[str]:
    """Return the names of the charts of `default_measures`, and of reward against KL if both are among them."""
    measures = default_measures(runs, recorded)
    has_both = {REWARD, KL} <= {measure.key for measure in measures}
    return [*(measure.name for measure in measures), *([TRADEOFF] if has_both else [])]


def leave_out_empty(charts: Sequence[Chart], runs: Sequence[Run], axis: str) -> list[Chart]:
    """Return the charts without those that have no value and get none, as no run may still record one.

    The first chart stays if all are empty, and says why. Along another axis than the step, empty charts stay: the
    values may exist without positions on it.
    """
    if axis != "step" or any(run.is_open for run in runs):
        return list(charts)
    return [chart for chart in charts if not chart.is_empty] or list(charts[:1])


def expected_keys(run: Run) -> set[str]:
    """Return the keys that a run may record: the headline metrics of its task; reward and KL for a task without any."""
    task = task_of(run.config)
    return (
        {metric.key for metric in headline_metrics(task) if not metric.fallback_for}
        if has_task_metrics(task)
        else {REWARD, KL}
    )
