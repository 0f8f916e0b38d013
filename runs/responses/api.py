"""API of a run's responses, populations and engine reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from ninja import P, QueryEx

from runs.http import ApiRequest, Id, Int, Uid, Word, get_run, needs, paginate, router, unknown_choice
from runs.models import EngineReport, Population, Response, Run, list_evaluated_steps
from runs.responses.schemas import (
    EngineReportOut,
    EngineReportsOut,
    PartialOut,
    PopulationOut,
    PopulationsOut,
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
    return ResponsesOut(items=[ResponseOut.from_row(answer) for answer in items], next=following, partial=partial)


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
    return PopulationsOut(items=[PopulationOut.from_row(population) for population in items], next=following)


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
    return EngineReportsOut(items=[EngineReportOut.from_row(report) for report in items], next=following)


def _partial(run: Run) -> list[PartialOut]:
    evaluated = list_evaluated_steps([run]).get(run.pk, ())
    return [PartialOut.from_row(step) for step in evaluated if step.is_partial]


def check_selected(rows: QuerySet[Any], selected: Mapping[str, object], run: Run) -> None:
    """Raise Invalid for a value that none of a finished run's rows has. An unfinished run may still write such rows."""
    for name, value in selected.items():
        if value is not None and not run.is_open and not rows.filter(**{name: value}).exists():
            choices = rows.order_by(name).values_list(name, flat=True).distinct()
            raise unknown_choice(name, list(map(str, choices)), value)
