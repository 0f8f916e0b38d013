"""Page of λ of an experiment's runs: its cause, how well it held the cost below its threshold, ES and GRPO
superposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from runs import metrics
from runs.charts import X_WORDS, Chart, Mark, line, marks, spoken
from runs.compare import Choice, ComparisonSettings, chart_query, parse_settings
from runs.experiments.lambda_page.charts import KEYS, LAMBDA, NAMES, RAW, SMOOTHED, THRESHOLD, multiplier_charts
from runs.http import SignedIn, UnknownChoice, chart_response, must_be_one_of, visible_experiment
from runs.metrics import Curve, cursors, task_of
from runs.models import Experiment, Run
from runs.models.experiment import config_section
from workers.analysis.aggregate import Floats
from workers.analysis.constraint import ConstraintSummary, Peak, Stay, find_peak, find_stay, summarise_constraint
from workers.analysis.smoothing import Smoothing, smooth
from workers.config import SafetyOptions
from workers.config.tasks import TASKS, TaskOptions

CHART_PX = 800
TABLE_PX = 60
MAX_RUNS = 10
LONG_POINTS = 10
"""If λ has this many values in a row on a limit, the page reports it."""

Curves = dict[tuple[int, str], Curve]


@dataclass(frozen=True)
class Outcome:
    """Result of how well one run kept its constraint, by measured J_C, smoothed as the user selects.

    The rule's own average serves only if no measured J_C is stored: where that average counts violations only, it never
    falls to the threshold again.
    """

    mark: Mark
    compliance: ConstraintSummary | None
    peak: Peak | None
    last: float | None
    stay: Stay | None = None
    """The stay on a limit, if it is long: no measurement moves λ then."""


@require_safe
def experiment_lambda(request: SignedIn, pk: int) -> HttpResponse:
    """Render the page."""
    experiment = visible_experiment(request, pk)
    choice = _choice(request, experiment)
    runs = choice.runs
    settings, run_marks = parse_settings(request), marks(runs)
    # Read before the points, so that the socket sends every point that is not among them.
    watch = cursors(runs)
    curves = _curves(runs, settings)
    charts = multiplier_charts(run_marks, curves, settings.chart_options(CHART_PX), _provenances(runs)) if runs else []
    context = {
        "experiment": experiment, "marks": run_marks, "total": choice.total, "settings": settings,
        "controls": settings.controls,
        "problems": (*choice.problems, *settings.problems), "chart_query": chart_query(request, choice),
        "watch": watch, "is_open": any(run.is_open for run in runs), "charts": charts[:-1], "phase": charts[-1:],
        "outcomes": [_outcome(mark, curves, settings.controls.smoothing) for mark in run_marks],
        "unit": spoken(X_WORDS[settings.controls.x]),
    }  # fmt: skip
    return TemplateResponse(request, "experiments/lambda.html", context)


@require_safe
def experiment_lambda_chart(request: SignedIn, pk: int) -> HttpResponse:
    """Return one chart: new text and figure, its table, or its data as CSV."""
    experiment = visible_experiment(request, pk)
    name = request.GET.get("name", "")
    if name not in NAMES:
        raise UnknownChoice(must_be_one_of("name", NAMES, name))
    choice = _choice(request, experiment)
    if choice.problems:
        raise UnknownChoice(" ".join(choice.problems))
    runs = choice.runs
    settings = parse_settings(request)
    px = {"csv": None, "table": TABLE_PX}.get(request.GET.get("as", ""), CHART_PX)
    chart_list = multiplier_charts(marks(runs), _curves(runs, settings), settings.chart_options(px), _provenances(runs))
    charts: dict[str, Chart] = {chart.name: chart for chart in chart_list}
    return chart_response(request, charts[name], f"{experiment.name} {charts[name].slug}")


def _choice(request: SignedIn, experiment: Experiment) -> Choice:
    """Return the runs with a λ that the address names, else the newest. Raise UnknownChoice if none of the named runs
    exists."""
    rows = experiment.runs.current().filter(series__key=LAMBDA).order_by("-pk")
    named, problems = request.GET.getlist("run"), []
    if named:
        uids = list(rows.values_list("uid", flat=True))
        if missing := [uid for uid in named if uid not in uids]:
            problems = [must_be_one_of("run", uids, ", ".join(missing))]
        if len(missing) == len(named):
            raise UnknownChoice(problems[0])
        rows = rows.filter(uid__in=named)
    # In the order of creation, so that letters stay with their runs while others are added.
    return Choice(list(rows[:MAX_RUNS])[::-1], rows.count(), tuple(problems))


def _curves(runs: Sequence[Run], settings: ComparisonSettings) -> Curves:
    return (
        {(curve.run_id, curve.key): curve for curve in metrics.read(runs, KEYS, x=settings.controls.x)} if runs else {}
    )


def _provenances(runs: Sequence[Run]) -> metrics.Provenances:
    return metrics.provenances(runs, KEYS, metrics.origins_of(runs))


def _outcome(mark: Mark, curves: Curves, smoothing: Smoothing) -> Outcome:
    j_c = curves.get((mark.run.pk, RAW)) or curves.get((mark.run.pk, SMOOTHED))
    lambda_curve, bound = curves.get((mark.run.pk, LAMBDA)), curves.get((mark.run.pk, THRESHOLD))
    x, y = line(lambda_curve) if lambda_curve else (np.zeros(0), np.zeros(0))
    last = float(y[-1]) if len(y) else None
    return Outcome(
        mark, _compliance(j_c, bound, smoothing) if j_c else None, find_peak(x, y), last, _stay(mark.run, x, y)
    )


def _stay(run: Run, x: Floats, y: Floats) -> Stay | None:
    """Return the longest stay of λ on a limit of the run's config, or None if it is short. Other runs have no known
    limits."""
    if not TASKS.get(task_of(run.config), TaskOptions).has_cost or not run.kind.runs_here:
        return None
    options = config_section(run.config["task"], "options")
    least, most = (float(options.get(name, getattr(SafetyOptions, name))) for name in ("lambda_min", "lambda_max"))
    longest_stay = find_stay(x, y, least, most)
    return longest_stay if longest_stay and longest_stay.points >= LONG_POINTS else None


def _compliance(j_c: Curve, bound: Curve | None, smoothing: Smoothing) -> ConstraintSummary | None:
    """Compare J_C with the run's own threshold if it was recorded, else with 0, to which the published rule adds d."""
    x, y = line(j_c)
    y = smooth(x, y, smoothing)
    at, threshold = line(bound) if bound else (x[:0], y[:0])
    if not len(at):
        return summarise_constraint(x, y)
    before = (at.searchsorted(x, side="right") - 1).clip(0)
    return summarise_constraint(x, y, threshold[before])
