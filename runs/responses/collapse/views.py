"""Have a run's answers collapsed? What its detectors say at a step, and over all steps, in words and as charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from runs.charts import Chart
from runs.http import SignedIn, UnknownChoice, chart_response, selected, visible_run
from runs.models import Collapse, Prompt, Response, Run
from runs.responses.collapse.charts import SPECS, collapse_charts
from runs.responses.collapse.findings import DetectorRow, base_of, list_evaluations, select_whole, summary, told
from runs.responses.viewer.views import is_covered
from workers.analysis.collapse import Measures

BASES_AT_MOST = 50


@dataclass(frozen=True)
class AtStep:
    """A step, and the titles of what fired there."""

    step: int
    fired: list[str]


@dataclass(frozen=True)
class Shown:
    """A text that answers share, which detectors it is that it fired, and prompts that were answered with it."""

    text: str
    rows: list[DetectorRow]
    prompts: list[Prompt]

    @property
    def is_alarm(self) -> bool:
        return any(row.is_alarm for row in self.rows)


@require_safe
def run_collapse(request: SignedIn, uid: str) -> HttpResponse:
    """The page; for htmx the panel alone."""
    run = visible_run(request, uid)
    name = "responses/collapse.html#panel" if request.htmx else "responses/collapse.html"
    return TemplateResponse(request, name, {"run": run, **_context(request, run)})


@require_safe
def run_collapse_chart(request: SignedIn, uid: str) -> HttpResponse:
    """One chart: fresh words and figure, its table, or its data as CSV."""
    run = visible_run(request, uid)
    split = _split(request, run)
    rows = _measured(run, split)
    charts = {chart.name: chart for chart in _charts(run, select_whole(rows, list_evaluations(run, rows)))}
    name = request.GET.get("name", "")
    if name not in charts:
        raise UnknownChoice(f"name must be one of {', '.join(spec.name for spec in SPECS)}, not {name!r}")
    return chart_response(request, charts[name], f"{run.name} {charts[name].slug}")


def _context(request: SignedIn, run: Run) -> dict[str, Any]:
    split = _split(request, run)
    rows = _measured(run, split)
    waiting = run.collapses.filter(split=split, measures__isnull=True, measured=0).exists()
    bases = _bases(run, split)
    steps = list_evaluations(run, rows)
    whole = select_whole(rows, steps)
    context = {"split": split, "splits": _splits(run), "waiting": waiting, "steps": steps, "bases": bases,
               "charts": _charts(run, whole)}  # fmt: skip
    if not rows:
        return context
    by_step = {str(row.step): row for row in rows}
    last = str(whole[-1].step)
    of = by_step[selected(request, "step", by_step, last) if request.GET.get("step") else last]
    context["evaluation"] = steps[rows.index(of)]
    context["whole_steps"] = len(whole)
    context["left_out"] = [one for one in steps if one.is_partial] if len(whole) < len(rows) else []
    return context | _at(request, run, whole, of, bases)


def _at(request: SignedIn, run: Run, whole: list[Collapse], of: Collapse, bases: list[Collapse]) -> dict[str, Any]:
    offered = {one.run.uid: one for one in bases}
    baseline = selected(request, "baseline", offered, "") if request.GET.get("baseline") else ""
    base = base_of(of, run, whole, offered.get(baseline))
    measures = Measures.from_json(of.measures or {})
    said = told(measures, base)
    return {
        "at": of, "measures": measures, "told": said, "base": base, "baseline": baseline,
        "summary": summary(of, said, base), "examples": _examples(said),
        "is_covered": _may_harm(of) and is_covered(request),
        "is_alarmed": any(row.state == "alarm" for row in said),
        "over_steps": _over_steps(run, whole, offered.get(baseline)),
    }  # fmt: skip


def _may_harm(of: Collapse) -> bool:
    """True where the answers have a cost, which only those to requests that may be harmful have."""
    answers = Response.objects.filter(run=of.run_id, split=of.split, step=of.step)
    return answers.filter(cost__isnull=False).exists()


def _over_steps(run: Run, rows: list[Collapse], chosen: Collapse | None) -> list[AtStep]:
    """The steps at which anything fires, each held against the same base."""
    base = base_of(rows[-1], run, rows, chosen)
    fired = ((row.step, told(Measures.from_json(row.measures or {}), base)) for row in rows)
    found = [AtStep(step, [one.title for one in said if one.state == "alarm"]) for step, said in fired]
    return [one for one in found if one.fired]


def _examples(said: list[DetectorRow]) -> list[Shown]:
    """Return one entry for each text that made detectors fire.

    An entry has the text, these detectors, and the prompts of the first responses with the text.
    """
    fired = [(row, row.example) for row in said if row.fired and row.example]
    prompts = Prompt.objects.in_bulk({key for _, example in fired for key in example.keys})
    found: dict[str, Shown] = {}
    for row, example in fired:
        asked = [prompts[key] for key in example.keys if key in prompts]
        found.setdefault(example.text, Shown(example.text, [], asked)).rows.append(row)
    return list(found.values())


def _bases(run: Run, split: str) -> list[Collapse]:
    """The first answers of the newest runs of the experiment, to choose a base from; their measures come when asked."""
    rows = Collapse.objects.filter(
        run__experiment=run.experiment_id, run__deleted_at__isnull=True, split=split, measures__isnull=False
    )
    first = rows.order_by("-run_id", "step").distinct("run_id").select_related("run")
    return list(first.only("split", "step", "run__uid", "run__name")[:BASES_AT_MOST])


def _splits(run: Run) -> list[str]:
    found = run.collapses.order_by("split").values_list("split", flat=True).distinct()
    return list(found) or ["eval"]


def _split(request: SignedIn, run: Run) -> str:
    splits = _splits(run)
    usual = "eval" if "eval" in splits else splits[0]
    return selected(request, "split", splits, usual) if request.GET.get("split") else usual


def _measured(run: Run, split: str) -> list[Collapse]:
    return list(run.collapses.filter(split=split, measures__isnull=False).order_by("step"))


def _charts(run: Run, rows: list[Collapse]) -> list[Chart]:
    return collapse_charts(run, {row.step: Measures.from_json(row.measures or {}) for row in rows})
