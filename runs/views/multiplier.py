"""λ of an experiment's runs: what moved it, how well it kept the cost below its threshold, ES and GRPO superposed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import Http404, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from runs import series
from runs.charts import Chart, Mark, marks
from runs.charts.groups import line
from runs.charts.multiplier import KEYS, LAMBDA, NAMES, RAW, SMOOTHED, THRESHOLD, multiplier_charts
from runs.charts.words import X_WORDS, spoken
from runs.models import Experiment, Run
from runs.series import Curve
from runs.views.chart import chart_response
from runs.views.compare_settings import Settings, settings_of
from runs.views.parameters import SignedIn
from runs.views.runs_table import cursors
from runs.views.visible import visible_experiment
from workers.analysis.constraint import Kept, Peak, kept, peak

CHART_PX = 800
TABLE_PX = 60
DRAWN_AT_MOST = 10

Curves = dict[tuple[int, str], Curve]


@dataclass(frozen=True)
class Outcome:
    """How one run kept its constraint: by J_C as the rule smooths it, and as it was measured."""

    mark: Mark
    smoothed: Kept | None
    raw: Kept | None
    peak: Peak | None
    last: float | None


@require_safe
def experiment_lambda(request: SignedIn, pk: int) -> HttpResponse:
    """The page."""
    experiment = visible_experiment(request, pk)
    runs, total = _runs(request, experiment)
    settings, told = settings_of(request), marks(runs)
    # Asked before the points are read, so that the socket brings whatever is not among them.
    watch = cursors(runs)
    curves = _curves(runs, settings)
    charts = multiplier_charts(told, curves, settings.how(CHART_PX)) if runs else []
    context = {
        "experiment": experiment, "marks": told, "total": total, "settings": settings, "problems": settings.problems,
        "watch": watch, "is_open": any(run.is_open for run in runs), "charts": charts[:-1], "phase": charts[-1:],
        "outcomes": [_outcome(mark, curves) for mark in told], "unit": spoken(X_WORDS[settings.x]),
    }  # fmt: skip
    return TemplateResponse(request, "runs/lambda.html", context)


@require_safe
def experiment_lambda_chart(request: SignedIn, pk: int) -> HttpResponse:
    """One chart: fresh words and figure, its table, or its data as CSV."""
    experiment = visible_experiment(request, pk)
    name = request.GET.get("name", "")
    if name not in NAMES:
        raise Http404(f"name must be one of {', '.join(NAMES)}, not {name!r}")
    runs, _total = _runs(request, experiment)
    settings = settings_of(request)
    px = {"csv": None, "table": TABLE_PX}.get(request.GET.get("as", ""), CHART_PX)
    charts: dict[str, Chart] = {
        chart.name: chart for chart in multiplier_charts(marks(runs), _curves(runs, settings), settings.how(px))
    }
    return chart_response(request, charts[name], f"{experiment.name} {charts[name].slug}")


def _runs(request: SignedIn, experiment: Experiment) -> tuple[list[Run], int]:
    """The runs with a λ that the address names, else the newest; and how many have one."""
    rows = experiment.runs.current().filter(series__key=LAMBDA).order_by("-pk")
    if named := request.GET.getlist("run"):
        rows = rows.filter(uid__in=named)
    # Read in the order they were made, so that letters stay with their runs while others are added.
    return list(rows[:DRAWN_AT_MOST])[::-1], rows.count()


def _curves(runs: Sequence[Run], settings: Settings) -> Curves:
    return {(curve.run_id, curve.key): curve for curve in series.read(runs, KEYS, x=settings.x)} if runs else {}


def _outcome(mark: Mark, curves: Curves) -> Outcome:
    of = curves.get((mark.run.pk, LAMBDA))
    x, y = line(of) if of else (None, None)
    return Outcome(
        mark, _kept(mark, SMOOTHED, curves), _kept(mark, RAW, curves),
        peak(x, y) if x is not None and y is not None else None,
        float(y[-1]) if y is not None and len(y) else None,
    )  # fmt: skip


def _kept(mark: Mark, key: str, curves: Curves) -> Kept | None:
    """Against the run's own threshold where it was recorded, else 0, which the published rule's d is added to."""
    found, bound = curves.get((mark.run.pk, key)), curves.get((mark.run.pk, THRESHOLD))
    if found is None:
        return None
    x, y = line(found)
    if bound is None or not len(line(bound)[0]):
        return kept(x, y)
    at, threshold = line(bound)
    before = (at.searchsorted(x, side="right") - 1).clip(0)
    return kept(x, y, threshold[before])
