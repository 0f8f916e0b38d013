"""Collapse page of a run: results of the detectors at a step and over all steps, as text and as charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import F
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from runs.charts import Chart
from runs.http import SignedIn, UnknownChoice, chart_response, must_be_one_of, require_choice, visible_run
from runs.metrics import cursors
from runs.models import Collapse, Prompt, Response, Run
from runs.responses.collapse.charts import SPECS, collapse_charts
from runs.responses.collapse.findings import (
    DetectorRow,
    base_of,
    detector_rows,
    list_evaluations,
    select_whole,
    summary,
)
from runs.responses.viewer.views import is_covered
from workers.analysis.collapse import Measures

MAX_BASES = 50


@dataclass(frozen=True)
class StepAlarms:
    """A step, and the titles of the detectors that fired there."""

    step: int
    fired: list[str]


@dataclass(frozen=True)
class ExampleGroup:
    """A text that responses share, the detectors that it made fire, and prompts with this response."""

    text: str
    rows: list[DetectorRow]
    prompts: list[Prompt]

    @property
    def is_alarm(self) -> bool:
        return any(row.is_alarm for row in self.rows)


@require_safe
def run_collapse(request: SignedIn, uid: str) -> HttpResponse:
    """Return the page; for htmx the panel alone, or whether its badge stays, as long as the run is open."""
    run = visible_run(request, uid)
    if request.htmx and request.htmx.target == "collapse-live":
        return HttpResponse(status=204 if run.is_open else 200)
    name = "responses/collapse.html#panel" if request.htmx else "responses/collapse.html"
    return TemplateResponse(request, name, {"run": run, "watch": cursors([run]), **_context(request, run)})


@require_safe
def run_collapse_chart(request: SignedIn, uid: str) -> HttpResponse:
    """Return one chart: current summary and figure, its table, or its data as CSV."""
    run = visible_run(request, uid)
    split = _split(request, run)
    rows = _measured(run, split)
    charts = {chart.name: chart for chart in _charts(run, select_whole(rows, list_evaluations(run, rows)))}
    name = request.GET.get("name", "")
    if name not in charts:
        names = [spec.name for spec in SPECS]
        raise UnknownChoice(
            "There are no measured responses to draw yet." if name in names else must_be_one_of("name", names, name)
        )
    return chart_response(request, charts[name], f"{run.name} {charts[name].slug}")


def _context(request: SignedIn, run: Run) -> dict[str, Any]:
    split = _split(request, run)
    rows = _measured(run, split)
    waiting = run.collapses.filter(split=split, measured__lt=F("arrived")).exists()
    bases = _bases(run, split)
    steps = list_evaluations(run, rows)
    whole = select_whole(rows, steps)
    context = {"split": split, "splits": _splits(run), "waiting": waiting, "steps": steps, "bases": bases,
               "charts": _charts(run, whole), "refresh_on": _refresh_trigger(run, waiting)}  # fmt: skip
    if not rows:
        return context | {"has_responses": run.collapses.filter(split=split).exists()}
    by_step = {str(row.step): row for row in rows}
    last = str(whole[-1].step)
    current = by_step[require_choice(request, "step", by_step, last) if request.GET.get("step") else last]
    context["evaluation"] = steps[rows.index(current)]
    context["whole_steps"] = len(whole)
    context["left_out"] = [step for step in steps if step.is_partial] if len(whole) < len(rows) else []
    return context | _step_context(request, run, whole, current, bases)


def _refresh_trigger(run: Run, waiting: bool) -> str:
    """Return the events, as htmx names them, after which the panel requests itself again; empty if nothing changes."""
    triggers = ["run-changed:responses from:body"] if run.is_open else []
    return ", ".join([*triggers, *(["every 5s"] if waiting else [])])


def _step_context(
    request: SignedIn, run: Run, whole: list[Collapse], current: Collapse, bases: list[Collapse]
) -> dict[str, Any]:
    base_choices = {base_row.run.uid: base_row for base_row in bases}
    baseline = require_choice(request, "baseline", base_choices, "") if request.GET.get("baseline") else ""
    base = base_of(current, run, whole, base_choices.get(baseline))
    measures = Measures.from_json(current.measures or {})
    rows = detector_rows(measures, base)
    return {
        "at": current, "measures": measures, "detectors": rows, "base": base, "baseline": baseline,
        "summary": summary(current, rows, base), "examples": _examples(rows),
        "is_covered": _may_harm(current) and is_covered(request),
        "is_alarmed": any(row.state == "alarm" for row in rows),
        "over_steps": _alarms_over_steps(run, whole, base_choices.get(baseline)),
    }  # fmt: skip


def _may_harm(row: Collapse) -> bool:
    """Return whether the responses have a cost, as only responses to possibly harmful requests do."""
    answers = Response.objects.filter(run=row.run_id, split=row.split, step=row.step)
    return answers.filter(cost__isnull=False).exists()


def _alarms_over_steps(run: Run, rows: list[Collapse], selected_base: Collapse | None) -> list[StepAlarms]:
    """Return the steps at which any detector fires, each compared with the same base."""
    base = base_of(rows[-1], run, rows, selected_base)
    rows_by_step = ((row.step, detector_rows(Measures.from_json(row.measures or {}), base)) for row in rows)
    alarms = [
        StepAlarms(step, [row.title for row in step_rows if row.state == "alarm"]) for step, step_rows in rows_by_step
    ]
    return [alarm for alarm in alarms if alarm.fired]


def _examples(rows: list[DetectorRow]) -> list[ExampleGroup]:
    """Return one entry for each text that made detectors fire.

    An entry has the text, these detectors, and the prompts of the first responses with the text.
    """
    fired = [(row, row.example) for row in rows if row.fired and row.example]
    prompts = Prompt.objects.in_bulk({key for _, example in fired for key in example.keys})
    groups: dict[str, ExampleGroup] = {}
    for row, example in fired:
        prompts_of_example = [prompts[key] for key in example.keys if key in prompts]
        groups.setdefault(example.text, ExampleGroup(example.text, [], prompts_of_example)).rows.append(row)
    return list(groups.values())


def _bases(run: Run, split: str) -> list[Collapse]:
    """Return the first responses of the experiment's newest runs, to select a base; measures are loaded on access."""
    rows = Collapse.objects.filter(
        run__experiment=run.experiment_id, run__deleted_at__isnull=True, split=split, measures__isnull=False
    )
    first = rows.order_by("-run_id", "step").distinct("run_id").select_related("run")
    return list(first.only("split", "step", "run__uid", "run__name")[:MAX_BASES])


def _splits(run: Run) -> list[str]:
    splits = run.collapses.order_by("split").values_list("split", flat=True).distinct()
    return list(splits) or ["eval"]


def _split(request: SignedIn, run: Run) -> str:
    splits = _splits(run)
    default = "eval" if "eval" in splits else splits[0]
    return require_choice(request, "split", splits, default) if request.GET.get("split") else default


def _measured(run: Run, split: str) -> list[Collapse]:
    return list(run.collapses.filter(split=split, measures__isnull=False).order_by("step"))


def _charts(run: Run, rows: list[Collapse]) -> list[Chart]:
    return collapse_charts(run, {row.step: Measures.from_json(row.measures or {}) for row in rows})
