"""API of a run's responses, populations and engine reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from django.db.models import QuerySet
from ninja import P, QueryEx

from runs import metrics
from runs.http import ApiRequest, Id, Int, Uid, Word, get_run, needs, paginate, router, unknown_choice
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
    """Return the responses of a run in the order written, optionally of one step or split (train, eval).

    The reply is 422 with the valid choices if the run has no responses of the step or split. While the run has not
    finished, and they may still arrive, the list is empty."""
    run, selected = get_run(request.auth, uid), {"step": step, "split": split}
    check_selected(Response.objects.filter(run=run), selected, run)
    responses = Response.objects.filter(run=run).select_related("prompt").prefetch_related("scores")
    responses = responses.filter(**{name: value for name, value in selected.items() if value is not None})
    items, following = paginate(responses, cursor, limit, newest_first=False)
    # Count only for the first page, not again for each of possibly thousands of pages.
    partial = _partial(run) if cursor is None else None
    return ResponsesOut(items=[_response_out(answer) for answer in items], next=following, partial=partial)


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
    """Return the members of each step and their rewards, in the order written. The reply is 422 with valid steps for
    a step without members. While the run has not finished, the list is empty."""
    run = get_run(request.auth, uid)
    check_selected(Population.objects.filter(run=run), {"step": step}, run)
    populations_query = Population.objects.filter(run=run).select_related("attempt")
    populations_query = populations_query.filter(step=step) if step is not None else populations_query
    items, following = paginate(populations_query, cursor, limit, newest_first=False)
    populations = [PopulationOut(step=p.step, attempt=p.attempt.n, members=p.members) for p in items]
    return PopulationsOut(items=populations, next=following)


@router.get("/runs/{uid}/engines", response=EngineReportsOut, auth=needs("read"), tags=["runs"], summary="Read engines")
def read_engines(
    request: ApiRequest,
    uid: Uid,
    step: Int | None = None,
    cursor: Id = None,
    limit: QueryEx[int, P(ge=1, le=1000)] = 100,
) -> EngineReportsOut:
    """Return the engines that share the population, after each step, in the order written; empty for a run without
    several engines. The reply is 422 with the valid steps for a step without a report. While the run has not finished,
    the list is empty."""
    run = get_run(request.auth, uid)
    check_selected(EngineReport.objects.filter(run=run), {"step": step}, run)
    reports = EngineReport.objects.filter(run=run).select_related("attempt")
    reports = reports.filter(step=step) if step is not None else reports
    items, following = paginate(reports, cursor, limit, newest_first=False)
    reports_out = [
        EngineReportOut(step=r.step, attempt=r.attempt.n, epoch=r.epoch, t=r.t, bytes=r.bytes, engines=r.engines)
        for r in items
    ]
    return EngineReportsOut(items=reports_out, next=following)


def _partial(run: Run) -> list[PartialOut]:
    evaluated = list_evaluated_steps([run]).get(run.pk, ())
    return [PartialOut(step=e.step, answers=e.answers, whole=e.whole) for e in evaluated if e.is_partial]


def check_selected(rows: QuerySet[Any], selected: Mapping[str, object], run: Run) -> None:
    """Raise Invalid for a value that none of a finished run's rows has. An unfinished run may still write such rows."""
    for name, value in selected.items():
        if value is not None and not run.is_open and not rows.filter(**{name: value}).exists():
            choices = rows.order_by(name).values_list(name, flat=True).distinct()
            raise unknown_choice(name, list(map(str, choices)), value)


def _response_out(response: Response) -> ResponseOut:
    prompt = response.prompt
    reward, kl = metrics.json_floats(np.array([response.reward, response.kl or 0.0]))
    return ResponseOut(
        step=response.step,
        split=response.split,
        prompt=PromptOut(id=prompt.pk, name=prompt.name, text=prompt.text, target=prompt.target),
        sample=response.sample,
        text=response.text,
        tokens=response.tokens,
        reward=reward,
        parts=response.parts,
        kl=None if response.kl is None else kl,
        scores=_scores(response),
        is_superseded=response.is_superseded,
    )


def _scores(response: Response) -> dict[str, dict[str, float | str]]:
    scores_by_scorer: dict[str, dict[str, float | str]] = {}
    for score in response.scores.all():
        scores_by_scorer.setdefault(score.scorer, {})[score.key] = score.value
    return scores_by_scorer
