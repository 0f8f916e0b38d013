"""Page that compares evaluations: pass@k, what trainings forget, the prompts that each solves, and the protocols."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from runs.charts import Chart
from runs.evaluations.charts import PASS_CHARTS, STEPS_PREFIX, pass_chart, step_charts
from runs.evaluations.estimates import Curves, measure_of, read_curves, recorded_measures
from runs.evaluations.protocols import SETTINGS, list_protocols, merge_protocols, protocol_differences, protocols_table
from runs.evaluations.selection import (
    LINE_CHOICES,
    STEP_CHOICES,
    Evaluation,
    EvaluationChoice,
    chart_query,
    parse_choice,
)
from runs.evaluations.solve_overlap import (
    NoSolveOverlap,
    SolveOverlap,
    compare_solved,
    overlap_notes,
    overlap_table,
)
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
from runs.models import Experiment
from workers.analysis.keys import PASS, PROMPTS, REWARD

TABLES = ("protocols", "solved")
DEFAULT_MEASURES = (PASS, "accuracy/greedy", REWARD)


@dataclass(frozen=True)
class EvaluatedSide:
    """A step of an evaluation, one of the two whose solved prompts are compared."""

    evaluation: Evaluation
    step: int

    @property
    def value(self) -> str:
        """Return the value of the parameter that names it."""
        return f"{self.evaluation.run.uid}@{self.step}"

    @property
    def text(self) -> str:
        """Return the letter of its evaluation, and the step."""
        return gettext("%(letter)s, step %(step)s") % {"letter": self.evaluation.mark.letter, "step": self.step}


@dataclass(frozen=True)
class EvaluationComparison:
    """Evaluations and their numbers as the page shows them.

    measures: keys of the recorded measures; measure: that of the charts over steps. sides: the steps to choose from for
    the comparison of solved prompts; first, second: the chosen ones.
    """

    choice: EvaluationChoice
    measures: list[str]
    measure: str
    curves: Curves
    sides: list[EvaluatedSide]
    first: EvaluatedSide | None
    second: EvaluatedSide | None


@require_safe
def evaluations_page(request: SignedIn, pk: int) -> HttpResponse:
    """Render the page. Raise UnknownChoice for a parameter that selects data that does not exist."""
    experiment = visible_experiment(request, pk)
    comparison = _comparison(request, experiment)
    choice, marks = comparison.choice, [evaluation.mark for evaluation in comparison.choice.evaluations]
    # Read before the charts, so that the socket sends every point that is not among them.
    watch = cursors(choice.runs)
    protocols = list_protocols(choice.evaluations, choice.tasks, comparison.curves)
    overlap, absence = _overlap(comparison)
    table_url, query = reverse("evaluations-table", args=[experiment.pk]), chart_query(request, choice)
    context = {
        "experiment": experiment, "choice": choice, "marks": marks, "watch": watch, "comparison": comparison,
        "is_open": any(run.is_open for run in choice.runs), "problems": choice.problems,
        "chart_query": query, "step_choices": STEP_CHOICES, "line_choices": LINE_CHOICES,
        "pass_charts": _pass_charts(comparison) if any(map(_is_pass, comparison.measures)) else [],
        "step_charts": _step_charts(comparison), "measure_titles": _measure_titles(comparison),
        "protocols": merge_protocols(protocols), "protocol_heads": SETTINGS,
        "differences": protocol_differences(protocols),
        "overlap": overlap, "overlap_absence": absence,
        "protocols_url": _file_url(query, table_url, "protocols"),
        "overlap_table_url": _file_url(query, table_url, "solved"),
        "chosen_uids": {run.uid for run in choice.runs},
    }  # fmt: skip
    return TemplateResponse(request, "evaluations/page.html", context)


@require_safe
def evaluations_chart(request: SignedIn, pk: int) -> HttpResponse:
    """Return one chart: new text and figure, its table, or its data as CSV."""
    experiment = visible_experiment(request, pk)
    comparison = _comparison(request, experiment)
    names = [*PASS_CHARTS, *(f"{STEPS_PREFIX}{task}" for task in comparison.choice.tasks)]
    name = request.GET.get("name", "")
    if name not in names:
        raise UnknownChoice(must_be_one_of("name", names, name))
    if comparison.choice.problems:
        raise UnknownChoice(" ".join(comparison.choice.problems))
    charts = {chart.name: chart for chart in (*_pass_charts(comparison), *_step_charts(comparison))}
    return chart_response(request, charts[name], f"{experiment.name} {charts[name].slug}")


@require_safe
def evaluations_table(request: SignedIn, pk: int) -> HttpResponse:
    """Return the protocols, or the prompts that only one of two evaluations solves, as a file."""
    experiment = visible_experiment(request, pk)
    comparison = _comparison(request, experiment)
    if comparison.choice.problems:
        raise UnknownChoice(" ".join(comparison.choice.problems))
    if require_choice(request, "table", TABLES, TABLES[0]) == "protocols":
        protocols = list_protocols(comparison.choice.evaluations, comparison.choice.tasks, comparison.curves)
        name, notes = f"{experiment.name} protocols", protocol_differences(protocols)
        return table_response(request, protocols_table(protocols), name, notes)
    overlap, absence = _overlap(comparison)
    if overlap is None:
        raise UnknownChoice(absence or gettext("There are no two steps to compare."))
    return table_response(request, overlap_table(overlap), f"{experiment.name} solved prompts", overlap_notes(overlap))


def _comparison(request: SignedIn, experiment: Experiment) -> EvaluationComparison:
    choice = parse_choice(request, experiment)
    measures = recorded_measures(choice.evaluations) if choice.evaluations else []
    default = next((key for key in DEFAULT_MEASURES if key in measures), next(iter(measures), ""))
    measure = require_choice(request, "measure", measures, default)
    passes = [key for key in measures if _is_pass(key)]
    curves = read_curves(choice.evaluations, list(dict.fromkeys([*passes, *filter(None, [measure])])), choice.tasks)
    sides = _sides(choice, curves)
    first, second = _chosen_sides(request, sides)
    return EvaluationComparison(choice, measures, measure, curves, sides, first, second)


def _is_pass(key: str) -> bool:
    return key.startswith(("pass@", "pass^"))


def _pass_charts(comparison: EvaluationComparison) -> list[Chart]:
    choice = comparison.choice
    return [
        pass_chart(name, choice.lines, choice.task, choice.steps, comparison.measures, comparison.curves)
        for name in PASS_CHARTS
    ]


def _step_charts(comparison: EvaluationComparison) -> list[Chart]:
    if not comparison.measure:
        return []
    return step_charts(
        comparison.choice.lines, comparison.choice.tasks, measure_of(comparison.measure), comparison.curves
    )


def _measure_titles(comparison: EvaluationComparison) -> list[tuple[str, str]]:
    return [(key, measure_of(key).title) for key in comparison.measures]


def _sides(choice: EvaluationChoice, curves: Curves) -> list[EvaluatedSide]:
    """Return the evaluated steps of the chosen task, by evaluation."""
    sides = []
    for evaluation in choice.evaluations:
        curve = curves.get((evaluation.run.pk, evaluation.prefix(choice.task) + PROMPTS))
        if choice.task in evaluation.tasks and curve is not None:
            sides += [EvaluatedSide(evaluation, step) for step in sorted({int(x) for x in curve.x[~curve.overwritten]})]
    return sides


def _chosen_sides(request: SignedIn, sides: list[EvaluatedSide]) -> tuple[EvaluatedSide | None, EvaluatedSide | None]:
    """Return the two steps to compare: by default the last ones of the first evaluation and of the first by another
    method, or else of the second; of a single evaluation its first and its last step."""
    last = list({side.evaluation.run.pk: side for side in sides}.values())
    others = sorted(last[1:], key=lambda side: side.evaluation.method == last[0].evaluation.method)
    defaults = [last[0], others[0]] if others else [sides[0], sides[-1]] if len(sides) > 1 else []
    values = [side.value for side in sides]
    by_value = dict(zip(values, sides, strict=True))
    chosen = [
        by_value.get(require_choice(request, name, values, default.value if default else ""))
        for name, default in zip(("first", "second"), defaults or (None, None), strict=True)
    ]
    return chosen[0], chosen[1]


def _overlap(comparison: EvaluationComparison) -> tuple[SolveOverlap | None, str]:
    """Return the comparison of the two chosen steps, or None and the reason why there is none."""
    if comparison.first is None or comparison.second is None:
        return None, ""
    first, second, task = comparison.first, comparison.second, comparison.choice.task
    names = {evaluation.prefix(task) and task for evaluation in (first.evaluation, second.evaluation)}
    if len(names) > 1:
        message = gettext("%(task)s is the own task of one of these evaluations, and a prior task of the other.")
        return None, message % {"task": task}
    try:
        pair = (first.evaluation.run, first.step), (second.evaluation.run, second.step)
        return compare_solved(*pair, task=names.pop()), ""
    except NoSolveOverlap as reason:
        return None, str(reason)


def _file_url(query: QueryDict, address: str, table: str) -> str:
    """Return the address of a table's file, up to the kind of file."""
    query = query.copy()
    query["table"] = table
    query.pop("as", None)
    return f"{address}?{query.urlencode()}&"
