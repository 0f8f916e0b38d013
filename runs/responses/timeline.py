"""Timeline page of a prompt: responses of several runs at a step, and differences from another step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_safe

from runs.charts import Chart, ChartOptions, Mark, marks, overlay
from runs.http import SignedIn, UnknownChoice, chart_response, must_be_one_of, require_choice, whole_number
from runs.metrics import Curve
from runs.models import EVALUATION, EvaluatedStep, Prompt, Response, Run, list_evaluated_steps
from runs.responses.diff import Piece, diff_pieces
from runs.responses.viewer.views import is_covered

MAX_RUNS = 6
MAX_OFFERED_RUNS = 60
MAX_RESPONSES = 5000
MIN_SIMILARITY = 0.3
"""Minimum share of common text; below it nearly every word would be marked, so no difference is shown."""
BASELINES = {
    "before": _("differences from the previous step"),
    "base": _("differences from the first step"),
    "nothing": _("without differences"),
}


@dataclass(frozen=True)
class TimelineEntry:
    """The last response of one run up to a step.

    pieces: the parts in which it differs from `other`; None if no difference is requested, if there is nothing to
    compare it with, or if hardly a word is the same (`is_new`). missing: `5 of 32 responses`, if its evaluation lacks
    some.
    """

    mark: Mark
    answer: Response | None
    other: Response | None = None
    pieces: list[Piece] | None = None
    is_new: bool = False
    missing: str = ""


@dataclass(frozen=True)
class Stretch:
    """Steps from `first` to `last`, at all of which the response was the same."""

    first: int
    last: int
    answer: Response


@require_safe
def time_machine(request: SignedIn, digest: str) -> HttpResponse:
    """Return the page; for htmx the responses alone."""
    prompt = _prompt(digest)
    name = "responses/timeline.html#moments" if request.htmx else "responses/timeline.html"
    return TemplateResponse(request, name, _context(request, prompt))


@require_safe
def time_machine_chart(request: SignedIn, digest: str) -> HttpResponse:
    """Return the rewards of the responses, as a chart, a table or CSV."""
    prompt = _prompt(digest)
    context = _context(request, prompt)
    return chart_response(request, context["chart"], f"prompt {digest} rewards")


def _prompt(digest: str) -> Prompt:
    """Return the prompt with this digest prefix, which stays valid in a recreated database. Raise Http404."""
    prompt = Prompt.objects.filter(digest__startswith=digest).first()
    if prompt is None:
        raise Http404("Unknown prompt")
    return prompt


def _context(request: SignedIn, prompt: Prompt) -> dict[str, Any]:
    offered_runs = _offered(request, prompt)
    selected_runs = _select_runs(request, offered_runs)
    run_marks = marks(selected_runs)
    rows = _held_out(prompt).filter(run__in=selected_runs, is_superseded=False)
    samples = sorted(set(rows.order_by().values_list("sample", flat=True).distinct()))
    sample = int(require_choice(request, "sample", [str(n) for n in samples], str(samples[0])))
    responses = list(rows.filter(sample=sample).order_by("run_id", "step")[:MAX_RESPONSES])
    by_run = {pk: list(answers) for pk, answers in groupby(responses, lambda row: row.run_id)}
    evaluated = _by_run_and_step(selected_runs)
    steps = sorted({row.step for row in responses})
    whole = [row.step for row in responses if not _is_partial(row, evaluated)]
    step = _step(request.GET.get("step", ""), steps, max(whole, default=steps[-1]))
    against = require_choice(request, "against", BASELINES, "before")
    return {
        "prompt": prompt, "offered": offered_runs, "chosen": [run.uid for run in selected_runs], "steps": steps,
        "step": step,
        "samples": samples, "sample": sample, "against": against,
        "against_choices": {name: gettext(words) for name, words in BASELINES.items()},
        "moments": [_timeline_entry(mark, by_run.get(mark.run.pk, []), step, against, evaluated) for mark in run_marks],
        "stretches": [(mark, _stretches(by_run.get(mark.run.pk, []))) for mark in run_marks],
        "chart": _chart(run_marks, by_run), "experiment": selected_runs[0].experiment,
        "is_covered": _may_disturb(responses) and is_covered(request),
    }  # fmt: skip


def _held_out(prompt: Prompt) -> QuerySet[Response]:
    # A training draws the completions of one prompt and step at random, so they have no history.
    return Response.objects.filter(prompt=prompt, split=EVALUATION)


def _may_disturb(responses: Sequence[Response]) -> bool:
    """Return whether responses have a cost, as only responses to possibly harmful requests do, and a text to blur."""
    return any(row.cost is not None for row in responses) and any(row.words for row in responses)


def _step(step_param: str, steps: Sequence[int], last: int) -> int:
    """Return the last step up to the requested one; `last` if none is requested. Raise UnknownChoice."""
    if not step_param:
        return last
    if (requested := whole_number(step_param)) is None:
        raise UnknownChoice(must_be_one_of("step", [str(step) for step in steps], step_param))
    return max((step for step in steps if step <= requested), default=steps[0])


def _offered(request: SignedIn, prompt: Prompt) -> list[Run]:
    """Return the runs with this prompt that the user may see, the newest first. Raise Http404 if there is none."""
    run_ids = _held_out(prompt).values("run_id")
    rows = Run.objects.visible_to(request.user).filter(pk__in=run_ids).select_related("experiment").order_by("-pk")
    named_runs = rows.filter(uid__in=request.GET.getlist("run")[:MAX_RUNS])
    runs_by_id = {run.pk: run for run in [*named_runs, *rows[:MAX_OFFERED_RUNS]]}
    if not runs_by_id:
        raise Http404("No run that you may see has responses to this prompt")
    return list(runs_by_id.values())


def _select_runs(request: SignedIn, offered: Sequence[Run]) -> list[Run]:
    """Return the runs in the address; a single run is joined by the newest of each other method of its experiment."""
    named_uids = request.GET.getlist("run")
    uids = [run.uid for run in offered]
    if missing := [uid for uid in named_uids[:MAX_RUNS] if uid not in uids]:
        raise UnknownChoice(must_be_one_of("run", uids, missing[0]))
    selected_runs = [run for run in offered if run.uid in named_uids][:MAX_RUNS] or [offered[0]]
    if len(selected_runs) > 1 or require_choice(request, "alone", ("1",), "") == "1":
        return selected_runs
    first = selected_runs[0]
    others = [run for run in offered if run.experiment_id == first.experiment_id and run.method != first.method]
    return [first, *{run.method: run for run in reversed(others)}.values()][:MAX_RUNS]


EvaluatedSteps = Mapping[tuple[int, int], EvaluatedStep]
"""Evaluated steps by run id and step."""


def _by_run_and_step(runs: Sequence[Run]) -> EvaluatedSteps:
    return {(pk, step.step): step for pk, steps in list_evaluated_steps(runs).items() for step in steps}


def _is_partial(answer: Response, evaluated: EvaluatedSteps) -> bool:
    evaluation = evaluated.get((answer.run_id, answer.step))
    return answer.split == EVALUATION and evaluation is not None and evaluation.is_partial


def _timeline_entry(
    mark: Mark, answers: Sequence[Response], step: int, against: str, evaluated: EvaluatedSteps
) -> TimelineEntry:
    """Return the entry at the step, or at the last one before it at which the run has a response."""
    earlier = [row for row in answers if row.step <= step]
    if not earlier:
        return TimelineEntry(mark, None)
    answer = earlier[-1]
    missing = evaluated[answer.run_id, answer.step].words if _is_partial(answer, evaluated) else ""
    other = {"before": earlier[-2] if len(earlier) > 1 else None, "base": earlier[0], "nothing": None}[against]
    if other is None or other is answer:
        return TimelineEntry(mark, answer, missing=missing)
    diff = diff_pieces(other.text, answer.text)
    common = sum(len(piece.text) for piece in diff if piece.kind == "kept")
    is_new = common < MIN_SIMILARITY * min(len(answer.text), len(other.text))
    return TimelineEntry(mark, answer, other, None if is_new else diff, is_new, missing)


def _stretches(answers: Sequence[Response]) -> list[Stretch]:
    same = ([*rows] for _, rows in groupby(answers, lambda row: row.text))
    return [Stretch(rows[0].step, rows[-1].step, rows[0]) for rows in same]


def _chart(run_marks: Sequence[Mark], by_run: dict[int, list[Response]]) -> Chart:
    """Return the chart of the response's reward over the steps, a line for each run."""
    curves = {}
    for pk, rows in by_run.items():
        x, y = np.array([row.step for row in rows], np.float64), np.array([row.reward for row in rows], np.float64)
        curves[pk, "reward"] = Curve(pk, "reward", x, y, np.zeros(len(x), bool), len(x))
    return replace(overlay("reward", run_marks, curves, ChartOptions()), title=gettext("Reward of the response"))
