"""Page of the results of probes: heat maps of tensors, one tensor in every run, charts over x, and tables."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from runs.http import (
    SignedIn,
    UnknownChoice,
    chart_response,
    must_be_one_of,
    require_choice,
    table_response,
    visible_experiment,
)
from runs.metrics import cursors
from runs.models import Experiment, ProbeResult
from runs.probes.charts import line_charts
from runs.probes.deviation import has_band
from runs.probes.heat_maps import default_colour, heat_maps
from runs.probes.measures import ProbeMeasure
from runs.probes.results import values_of
from runs.probes.selection import COLOURINGS, MAX_MAPS, ProbeChoice, chart_query, parse_choice
from runs.probes.tables import Values, file_of, of_tensor, table_of, verdicts_of
from workers.analysis.tensor_names import parse_name


@require_safe
def probes_page(request: SignedIn, pk: int) -> HttpResponse:
    """Render the page. Raise UnknownChoice for a parameter that selects data that does not exist."""
    experiment = visible_experiment(request, pk)
    choice = parse_choice(request, experiment)
    query = chart_query(request, choice)
    address = reverse("probes-table", args=[experiment.pk])
    context = {
        "experiment": experiment, "choice": choice, "measure": choice.measure, "watch": cursors(choice.runs),
        "is_open": any(run.is_open for run in choice.runs), "problems": choice.problems, "chart_query": query,
        "chosen_uids": {run.uid for run in choice.runs}, "file_url": _file_url(query, address),
        "measured": {series.letter for series, _result in choice.results},
    }  # fmt: skip
    if choice.measure:
        context |= _results(request, choice, choice.measure)
    else:
        # Without results there is nothing that these could select.
        _tensor(request, []), require_choice(request, "colour", COLOURINGS, "")
    return TemplateResponse(request, "probes/page.html", context)


@require_safe
def probes_chart(request: SignedIn, pk: int) -> HttpResponse:
    """Return the chart of the measure: new text and figure, its table, or its data as CSV."""
    experiment = visible_experiment(request, pk)
    choice, measure = _whole_choice(request, experiment)
    charts = {chart.name: chart for chart in line_charts(_values(choice), measure)} if measure.form == "line" else {}
    name = request.GET.get("name", "")
    if name not in charts:
        raise UnknownChoice(must_be_one_of("name", charts, name))
    return chart_response(request, charts[name], f"{experiment.name} {measure.probe} {charts[name].slug}")


@require_safe
def probes_table(request: SignedIn, pk: int) -> HttpResponse:
    """Return the values of the measure as a file: of every tensor, or of the selected one."""
    experiment = visible_experiment(request, pk)
    choice, measure = _whole_choice(request, experiment)
    values = _values(choice)
    tensor = _tensor(request, values)
    name = f"{experiment.name} {measure.probe} {measure.key} {tensor}"
    notes = [measure.title, measure.estimator, f"{gettext('By chance:')} {measure.null}", f"n: {measure.counted}"]
    return table_response(request, file_of(of_tensor(values, tensor) if tensor else values, measure), name, notes)


def _whole_choice(request: SignedIn, experiment: Experiment) -> tuple[ProbeChoice, ProbeMeasure]:
    """Return what the address of a file or chart selects. Raise UnknownChoice if a part of it does not exist."""
    choice = parse_choice(request, experiment)
    if choice.problems:
        raise UnknownChoice(" ".join(choice.problems))
    if choice.measure is None:
        raise UnknownChoice(gettext("There are no results of probes yet."))
    return choice, choice.measure


def _results(request: SignedIn, choice: ProbeChoice, measure: ProbeMeasure) -> dict[str, Any]:
    """Return what shows the values of the measure."""
    values = _values(choice)
    tensor = _tensor(request, values)
    results = [(series, several) for series, _verdict, several in values]
    drawn = [value for _series, several in results[:MAX_MAPS] for value in several]
    colour = require_choice(request, "colour", COLOURINGS, default_colour(drawn))
    context: dict[str, Any] = {"verdicts": verdicts_of(values), "left_out": max(len(values) - MAX_MAPS, 0)}
    if measure.form == "tensors":
        query = chart_query(request, choice)
        context |= {
            "maps": heat_maps(results, measure, colour, query), "colour": colour, "colourings": COLOURINGS,
            "tensor": parse_name(tensor) if tensor else None,
            "tensor_table": table_of(of_tensor(values, tensor), measure) if tensor else None,
        }  # fmt: skip
    else:
        context |= {"table": table_of(values, measure)}
    if measure.form == "line":
        context |= {"charts": line_charts(values, measure), "has_bands": any(map(has_band, drawn))}
    return context


def _values(choice: ProbeChoice) -> Values:
    """Return the values of the measure of every series. One query."""
    rows = ProbeResult.objects.in_bulk([result.pk for _series, result in choice.results])
    return [(series, result.verdict, values_of(rows[result.pk])) for series, result in choice.results]


def _tensor(request: SignedIn, values: Values) -> str:
    """Return the selected tensor, an empty text for none. Raise UnknownChoice for one without values."""
    names = dict.fromkeys(value.tensor for _series, _verdict, several in values for value in several if value.tensor)
    return require_choice(request, "tensor", list(names), "")


def _file_url(query: Any, address: str) -> str:
    """Return the address of the values as a file, up to the kind of file."""
    query = query.copy()
    query.pop("as", None)
    return f"{address}?{query.urlencode()}{'&' if query else ''}"
