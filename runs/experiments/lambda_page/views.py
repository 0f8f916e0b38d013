"""λ of an experiment's runs: what moved it, how well it kept the cost below its threshold, ES and GRPO superposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from runs import metrics
from runs.charts import X_WORDS, Chart, Mark, line, marks, spoken
from runs.compare import Choice, Settings, query_of, settings_of
from runs.experiments.lambda_page.charts import KEYS, LAMBDA, NAMES, RAW, SMOOTHED, THRESHOLD, multiplier_charts
from runs.http import SignedIn, UnknownChoice, chart_response, must_be_one_of, visible_experiment
from runs.metrics import Curve, cursors
from runs.models import Experiment, Run
from workers.analysis.constraint import Kept, Peak, Stay, kept, peak, stay
from workers.analysis.middles import Floats
from workers.analysis.smoothing import Smoothing, smooth
from workers.config import SafetyOptions

CHART_PX = 800
TABLE_PX = 60
DRAWN_AT_MOST = 10
LONG_POINTS = 10
"""So many values of λ in a row on a limit are said."""

Curves = dict[tuple[int, str], Curve]


@dataclass(frozen=True)
class Outcome:
    """Describe how well one run kept its constraint, by measured J_C, smoothed as the reader selects.

    The rule's own average serves only if no measured J_C is stored: where that average counts violations only, it never
    falls to the threshold again.
    """

    mark: Mark
    kept: Kept | None
    peak: Peak | None
    last: float | None
    stay: Stay | None = None
    """On a limit for long: nothing that is measured moves λ then."""


@require_safe
def experiment_lambda(request: SignedIn, pk: int) -> HttpResponse:
    """The page."""
    experiment = visible_experiment(request, pk)
    choice = _choice(request, experiment)
    runs = choice.runs
    settings, told = settings_of(request), marks(runs)
    # Asked before the points are read, so that the socket brings whatever is not among them.
    watch = cursors(runs)
    curves = _curves(runs, settings)
    charts = multiplier_charts(told, curves, settings.how(CHART_PX), _measured(runs)) if runs else []
    context = {
        "experiment": experiment, "marks": told, "total": choice.chosen, "settings": settings,
        "problems": (*choice.problems, *settings.problems), "chart_query": query_of(request, choice),
        "watch": watch, "is_open": any(run.is_open for run in runs), "charts": charts[:-1], "phase": charts[-1:],
        "outcomes": [_outcome(mark, curves, settings.smoothing) for mark in told], "unit": spoken(X_WORDS[settings.x]),
    }  # fmt: skip
    return TemplateResponse(request, "experiments/lambda.html", context)


@require_safe
def experiment_lambda_chart(request: SignedIn, pk: int) -> HttpResponse:
    """One chart: fresh words and figure, its table, or its data as CSV."""
    experiment = visible_experiment(request, pk)
    name = request.GET.get("name", "")
    if name not in NAMES:
        raise UnknownChoice(must_be_one_of("name", NAMES, name))
    choice = _choice(request, experiment)
    if choice.problems:
        raise UnknownChoice(" ".join(choice.problems))
    runs = choice.runs
    settings = settings_of(request)
    px = {"csv": None, "table": TABLE_PX}.get(request.GET.get("as", ""), CHART_PX)
    made = multiplier_charts(marks(runs), _curves(runs, settings), settings.how(px), _measured(runs))
    charts: dict[str, Chart] = {chart.name: chart for chart in made}
    return chart_response(request, charts[name], f"{experiment.name} {charts[name].slug}")


def _choice(request: SignedIn, experiment: Experiment) -> Choice:
    """Return the runs with a λ that the address names, else the newest. Raise UnknownChoice if none is there."""
    rows = experiment.runs.current().filter(series__key=LAMBDA).order_by("-pk")
    named, problems = request.GET.getlist("run"), []
    if named:
        uids = list(rows.values_list("uid", flat=True))
        if missing := [uid for uid in named if uid not in uids]:
            problems = [must_be_one_of("run", uids, ", ".join(missing))]
        if len(missing) == len(named):
            raise UnknownChoice(problems[0])
        rows = rows.filter(uid__in=named)
    # Read in the order they were made, so that letters stay with their runs while others are added.
    return Choice(list(rows[:DRAWN_AT_MOST])[::-1], rows.count(), tuple(problems))


def _curves(runs: Sequence[Run], settings: Settings) -> Curves:
    return {(curve.run_id, curve.key): curve for curve in metrics.read(runs, KEYS, x=settings.x)} if runs else {}


def _measured(runs: Sequence[Run]) -> metrics.Provenances:
    return metrics.provenances(runs, KEYS, metrics.origins_of(runs))


def _outcome(mark: Mark, curves: Curves, how: Smoothing) -> Outcome:
    j_c = curves.get((mark.run.pk, RAW)) or curves.get((mark.run.pk, SMOOTHED))
    of, bound = curves.get((mark.run.pk, LAMBDA)), curves.get((mark.run.pk, THRESHOLD))
    x, y = line(of) if of else (np.zeros(0), np.zeros(0))
    last = float(y[-1]) if len(y) else None
    return Outcome(mark, _kept(j_c, bound, how) if j_c else None, peak(x, y), last, _stay(mark.run, x, y))


def _stay(run: Run, x: Floats, y: Floats) -> Stay | None:
    """By the limits that its config says, or leaves as they are; of other runs' λ no limits are known."""
    task = run.config.get("task", {})
    if not isinstance(task, dict) or task.get("name") != "safety" or run.is_imported:
        return None
    said = task.get("options", {})
    least, most = (float(said.get(name, getattr(SafetyOptions, name))) for name in ("lambda_min", "lambda_max"))
    found = stay(x, y, least, most)
    return found if found and found.points >= LONG_POINTS else None


def _kept(j_c: Curve, bound: Curve | None, how: Smoothing) -> Kept | None:
    """Against the run's own threshold where it was recorded, else 0, which the published rule's d is added to."""
    x, y = line(j_c)
    y = smooth(x, y, how)
    at, threshold = line(bound) if bound else (x[:0], y[:0])
    if not len(at):
        return kept(x, y)
    before = (at.searchsorted(x, side="right") - 1).clip(0)
    return kept(x, y, threshold[before])
