"""One prompt through all steps: what each of some runs answered it at a step, and what changed since another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from django.http import Http404, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_safe

from runs.charts import Chart, Mark, OverlayOptions, marks, overlay
from runs.http import SignedIn, UnknownChoice, chart_response, must_be_one_of, selected
from runs.metrics import Curve
from runs.models import EVALUATION, EvaluatedStep, Prompt, Response, Run, list_evaluated_steps
from runs.responses.diff import Piece, pieces
from runs.responses.viewer.views import is_covered

RUNS_AT_MOST = 6
OFFERED_AT_MOST = 60
ANSWERS_AT_MOST = 5000
DIGITS_AT_MOST = 18
ALIKE = 0.3
"""Of answers that share less nearly every word would be marked, which tells nobody anything."""
AGAINST = {
    "before": _("what changed since the step before"),
    "base": _("what differs from the first step"),
    "nothing": _("as they are"),
}


@dataclass(frozen=True)
class Moment:
    """Hold the last response of one run up to a step.

    pieces: the parts in which it differs from `other`; None if no difference is requested, if there is nothing to
    compare it with, or if hardly a word is the same (`is_new`). missing: `5 of 32 answers`, if its evaluation lacks
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
    """Steps from `first` to `last`, at all of which the answer was the same."""

    first: int
    last: int
    answer: Response


@require_safe
def time_machine(request: SignedIn, digest: str) -> HttpResponse:
    """The page; for htmx the answers alone."""
    prompt = _prompt(digest)
    name = "responses/timeline.html#moments" if request.htmx else "responses/timeline.html"
    return TemplateResponse(request, name, _context(request, prompt))


@require_safe
def time_machine_chart(request: SignedIn, digest: str) -> HttpResponse:
    """The rewards of the answers, as a chart, a table or CSV."""
    prompt = _prompt(digest)
    context = _context(request, prompt)
    return chart_response(request, context["chart"], f"prompt {digest} rewards")


def _prompt(digest: str) -> Prompt:
    """The prompt whose digest begins so: an address that holds when the database is made anew."""
    found = Prompt.objects.filter(digest__startswith=digest).first()
    if found is None:
        raise Http404("There is no such prompt")
    return found


def _context(request: SignedIn, prompt: Prompt) -> dict[str, Any]:
    offered = _offered(request, prompt)
    chosen = _chosen(request, offered)
    told = marks(chosen)
    rows = Response.objects.filter(prompt=prompt, run__in=chosen, is_superseded=False)
    samples = sorted(set(rows.order_by().values_list("sample", flat=True).distinct()))
    sample = int(selected(request, "sample", [str(n) for n in samples], str(samples[0])))
    kept = list(rows.filter(sample=sample).order_by("run_id", "step")[:ANSWERS_AT_MOST])
    by_run = {pk: list(answers) for pk, answers in groupby(kept, lambda row: row.run_id)}
    evaluated = _by_run_and_step(chosen)
    steps = sorted({row.step for row in kept})
    whole = [row.step for row in kept if not _is_partial(row, evaluated)]
    step = _step(request.GET.get("step", ""), steps, max(whole, default=steps[-1]))
    against = selected(request, "against", AGAINST, "before")
    return {
        "prompt": prompt, "offered": offered, "chosen": [run.uid for run in chosen], "steps": steps, "step": step,
        "samples": samples, "sample": sample, "against": against,
        "against_choices": {name: gettext(words) for name, words in AGAINST.items()},
        "moments": [_moment(mark, by_run.get(mark.run.pk, []), step, against, evaluated) for mark in told],
        "stretches": [(mark, _stretches(by_run.get(mark.run.pk, []))) for mark in told],
        "chart": _chart(told, by_run), "experiment": chosen[0].experiment,
        "is_covered": any(row.cost is not None for row in kept) and is_covered(request),
    }  # fmt: skip


def _step(asked: str, steps: Sequence[int], last: int) -> int:
    """Return the last step up to the one that is asked for; `last` if none is. Raise UnknownChoice."""
    if not asked:
        return last
    if not (asked.isascii() and asked.isdigit() and len(asked) <= DIGITS_AT_MOST):
        raise UnknownChoice(must_be_one_of("step", [str(step) for step in steps], asked))
    return max((step for step in steps if step <= int(asked)), default=steps[0])


def _offered(request: SignedIn, prompt: Prompt) -> list[Run]:
    """The runs that this person may see and that were asked it, the newest first. 404 where there is none."""
    asked = Response.objects.filter(prompt=prompt).values("run_id")
    rows = Run.objects.visible_to(request.user).filter(pk__in=asked).select_related("experiment").order_by("-pk")
    named = rows.filter(uid__in=request.GET.getlist("run")[:RUNS_AT_MOST])
    found = {run.pk: run for run in [*named, *rows[:OFFERED_AT_MOST]]}
    if not found:
        raise Http404("No run that you may see was asked this prompt")
    return list(found.values())


def _chosen(request: SignedIn, offered: Sequence[Run]) -> list[Run]:
    """The runs that the address names; one alone gets the newest of each other method of its experiment beside it."""
    named = request.GET.getlist("run")
    uids = [run.uid for run in offered]
    if missing := [uid for uid in named[:RUNS_AT_MOST] if uid not in uids]:
        raise UnknownChoice(must_be_one_of("run", uids, missing[0]))
    chosen = [run for run in offered if run.uid in named][:RUNS_AT_MOST] or [offered[0]]
    if len(chosen) > 1 or selected(request, "alone", ("1",), "") == "1":
        return chosen
    first = chosen[0]
    others = [run for run in offered if run.experiment_id == first.experiment_id and run.method != first.method]
    return [first, *{run.method: run for run in reversed(others)}.values()][:RUNS_AT_MOST]


Evaluations = Mapping[tuple[int, int], EvaluatedStep]
"""By run id and step."""


def _by_run_and_step(runs: Sequence[Run]) -> Evaluations:
    return {(pk, one.step): one for pk, steps in list_evaluated_steps(runs).items() for one in steps}


def _is_partial(answer: Response, evaluated: Evaluations) -> bool:
    evaluation = evaluated.get((answer.run_id, answer.step))
    return answer.split == EVALUATION and evaluation is not None and evaluation.is_partial


def _moment(mark: Mark, answers: Sequence[Response], step: int, against: str, evaluated: Evaluations) -> Moment:
    """At the step, or at the last one before it at which the run was asked."""
    seen = [row for row in answers if row.step <= step]
    if not seen:
        return Moment(mark, None)
    answer = seen[-1]
    missing = evaluated[answer.run_id, answer.step].words if _is_partial(answer, evaluated) else ""
    other = {"before": seen[-2] if len(seen) > 1 else None, "base": seen[0], "nothing": None}[against]
    if other is None or other is answer:
        return Moment(mark, answer, missing=missing)
    found = pieces(other.text, answer.text)
    common = sum(len(piece.text) for piece in found if piece.kind == "kept")
    is_new = common < ALIKE * min(len(answer.text), len(other.text))
    return Moment(mark, answer, other, None if is_new else found, is_new, missing)


def _stretches(answers: Sequence[Response]) -> list[Stretch]:
    same = ([*rows] for _, rows in groupby(answers, lambda row: row.text))
    return [Stretch(rows[0].step, rows[-1].step, rows[0]) for rows in same]


def _chart(told: Sequence[Mark], by_run: dict[int, list[Response]]) -> Chart:
    """The reward of the answer over the steps, a line a run."""
    curves = {}
    for pk, rows in by_run.items():
        x, y = np.array([row.step for row in rows], np.float64), np.array([row.reward for row in rows], np.float64)
        curves[pk, "reward"] = Curve(pk, "reward", x, y, np.zeros(len(x), bool), len(x))
    return replace(overlay("reward", told, curves, OverlayOptions()), title=gettext("Reward of the answer"))
