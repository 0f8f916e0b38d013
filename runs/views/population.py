"""The population chart of a run: rows -> chart."""

from __future__ import annotations

from collections.abc import Sequence

from runs.charts import Chart, population_chart
from runs.models import Population, Run

ITERATIONS_AT_MOST = 120


def population(run: Run) -> Chart:
    """Every iteration where they fit on a chart, else evenly chosen ones, the last always among them."""
    steps = list(Population.objects.filter(run=run).order_by("step").values_list("step", flat=True).distinct())
    chosen = evenly(steps, ITERATIONS_AT_MOST)
    rows = Population.objects.filter(run=run, step__in=chosen).order_by("step", "-attempt__n", "-epoch", "-seq")
    # After a resume a step may have been done twice: the later attempt holds.
    newest = rows.distinct("step").values_list("step", "members")
    return population_chart(run.method, list(newest), total=len(steps))


def evenly(steps: Sequence[int], at_most: int) -> list[int]:
    """At most so many of the steps, the first and the last among them."""
    if len(steps) <= at_most:
        return list(steps)
    stride = (len(steps) - 1) / (at_most - 1)
    return [steps[round(i * stride)] for i in range(at_most)]
