"""Read what the model answered, what became of each population, and the engines that shared it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from django.db.models import QuerySet
from ninja import P, QueryEx

from runs import metrics
from runs.http import ApiRequest, Id, Int, Uid, Word, needs, page, router, the_run, unknown_choice
from runs.models import EngineReport, Population, Response, Run, list_evaluated_steps
from runs.responses.schemas import (
    EngineReportOut,
    EngineReportsOut,
    PartialOut,
    PopulationOut,
    PopulationsOut,
    PromptOut,
    ResponseOut,
    ResponsesOut,
)


@router.get("/runs/{uid}/responses", response=ResponsesOut, auth=needs("read"), tags=["runs"], summary="Read responses")
def read_responses(
    request: ApiRequest,
    uid: Uid,
    step: Int | None = None,
    split: Word | None = None,
    cursor: Id = None,
    limit: QueryEx[int, P(ge=1, le=1000)] = 100,
) -> ResponsesOut:
    """The answers of a run, in the order written, at one step or of one split (train, eval) where asked.

    A step or split of which the run has no answers is 422 with those that it has; while the run has not ended, and they
    may still come, the list is empty."""
    run, wanted = the_run(request.auth, uid), {"step": step, "split": split}
    check_selected(Response.objects.filter(run=run), wanted, run)
    found = Response.objects.filter(run=run).select_related("prompt").prefetch_related("scores")
    found = found.filter(**{name: value for name, value in wanted.items() if value is not None})
    items, following = page(found, cursor, limit, newest_first=False)
    # Counted once, and not again for each of what may be thousands of pages.
    partial = _partial(run) if cursor is None else None
    return ResponsesOut(items=[_shown(answer) for answer in items], next=following, partial=partial)


@router.get(
    "/runs/{uid}/populations", response=PopulationsOut, auth=needs("read"), tags=["runs"], summary="Read populations"
)
def read_populations(
    request: ApiRequest,
    uid: Uid,
    step: Int | None = None,
    cursor: Id = None,
    limit: QueryEx[int, P(ge=1, le=1000)] = 100,
) -> PopulationsOut:
    """The members of each step and their rewards, in the order written. A step without any is 422 with those that the
    run has; while the run has not ended, the list is empty."""
    run = the_run(request.auth, uid)
    check_selected(Population.objects.filter(run=run), {"step": step}, run)
    found = Population.objects.filter(run=run).select_related("attempt")
    found = found.filter(step=step) if step is not None else found
    items, following = page(found, cursor, limit, newest_first=False)
    shown = [PopulationOut(step=p.step, attempt=p.attempt.n, members=p.members) for p in items]
    return PopulationsOut(items=shown, next=following)


@router.get("/runs/{uid}/engines", response=EngineReportsOut, auth=needs("read"), tags=["runs"], summary="Read engines")
def read_engines(
    request: ApiRequest,
    uid: Uid,
    step: Int | None = None,
    cursor: Id = None,
    limit: QueryEx[int, P(ge=1, le=1000)] = 100,
) -> EngineReportsOut:
    """The engines that share the population, after each step, in the order written; empty for a run without several
    engines. A step without a report is 422 with those that the run has; while the run has not ended, the list is
    empty."""
    run = the_run(request.auth, uid)
    check_selected(EngineReport.objects.filter(run=run), {"step": step}, run)
    reports = EngineReport.objects.filter(run=run).select_related("attempt")
    reports = reports.filter(step=step) if step is not None else reports
    items, following = page(reports, cursor, limit, newest_first=False)
    shown = [
        EngineReportOut(step=r.step, attempt=r.attempt.n, epoch=r.epoch, t=r.t, bytes=r.bytes, engines=r.engines)
        for r in items
    ]
    return EngineReportsOut(items=shown, next=following)


def _partial(run: Run) -> list[PartialOut]:
    evaluated = list_evaluated_steps([run]).get(run.pk, ())
    return [PartialOut(step=e.step, answers=e.answers, whole=e.whole) for e in evaluated if e.is_partial]


def check_selected(rows: QuerySet[Any], wanted: Mapping[str, object], run: Run) -> None:
    """Raise Invalid for a value that none of the run's rows has. What has not ended may still write some."""
    for name, value in wanted.items():
        if value is not None and not run.is_open and not rows.filter(**{name: value}).exists():
            choices = rows.order_by(name).values_list(name, flat=True).distinct()
            raise unknown_choice(name, list(map(str, choices)), value)


def _shown(answer: Response) -> ResponseOut:
    prompt = answer.prompt
    reward, kl = metrics.sayable(np.array([answer.reward, answer.kl or 0.0]))
    return ResponseOut(
        step=answer.step,
        split=answer.split,
        prompt=PromptOut(id=prompt.pk, name=prompt.name, text=prompt.text, target=prompt.target),
        sample=answer.sample,
        text=answer.text,
        tokens=answer.tokens,
        reward=reward,
        parts=answer.parts,
        kl=None if answer.kl is None else kl,
        scores=_scores(answer),
        is_superseded=answer.is_superseded,
    )


def _scores(answer: Response) -> dict[str, dict[str, float | str]]:
    found: dict[str, dict[str, float | str]] = {}
    for score in answer.scores.all():
        found.setdefault(score.scorer, {})[score.key] = score.value
    return found
