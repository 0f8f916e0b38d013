"""Show how ratings changed: over stored boards, and over the steps of runs whose checkpoints are contestants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from judging.boards.charts import Line, Point, over_steps, over_time
from judging.boards.snapshots import STANDINGS, history_of
from judging.boards.views import BoardAddress, place
from judging.models import Contestant
from runs.charts import Chart
from runs.http import SignedIn, UnknownChoice, chart_response

Standings = list[dict[str, Any]]


@require_safe
def tournament_board_history(request: SignedIn, pk: int) -> HttpResponse:
    """The page."""
    at = place(request, pk)
    kept = _kept(at)
    charts = _charts(at, kept)
    context = {
        "at": at, "tournament": at.tournament, "rubric": at.rubric, "rubrics": at.rubrics, "charts": charts.values(),
        "boards": len(kept), "has_steps": "steps" in charts,
    }  # fmt: skip
    return TemplateResponse(request, "judging/boards/board_history.html", context)


@require_safe
def tournament_board_history_chart(request: SignedIn, pk: int) -> HttpResponse:
    """One of its charts: fresh words and figure, its table, or its data as CSV."""
    at = place(request, pk)
    charts, name = _charts(at, _kept(at)), request.GET.get("name", "")
    if name not in charts:
        raise UnknownChoice(f"name must be one of {', '.join(charts) or 'none: no board was kept'}, not {name!r}")
    return chart_response(request, charts[name], f"{at.tournament.name} {at.rubric.criterion.slug} {name}")


def _kept(at: BoardAddress) -> list[tuple[Any, Standings]]:
    rows = history_of(at.tournament, at.rubric)
    return list(rows.values_list("at", STANDINGS))


def _charts(at: BoardAddress, kept: list[tuple[Any, Standings]]) -> dict[str, Chart]:
    if not kept:
        return {}
    contestants, methods = (
        list(at.tournament.contestants.select_related("run").order_by("place")),
        at.tournament.methods,
    )
    found = {}
    if steps := list(_over_steps(contestants, kept[-1][1])):
        found["steps"] = over_steps(steps)
    if len(kept) > 1:
        found["time"] = over_time([_over_time(one, methods[one.name], kept) for one in contestants])
    return found


def _over_time(contestant: Contestant, method: str, kept: list[tuple[Any, Standings]]) -> Line:
    points = [
        Point(at, rating["value"], rating["low"], rating["high"])
        for at, standings in kept
        for rating in [_rating(standings, contestant.name)]
        if rating is not None
    ]
    return Line(contestant.name, method, points)


def _over_steps(contestants: list[Contestant], standings: Standings) -> Iterable[Line]:
    """A line for each run of which two checkpoints or more have a rating, if on one scale."""
    rated = {one["contestant"]: one for one in standings if one["rating"] is not None}
    own: dict[tuple[int, str], list[Contestant]] = {}
    for one in contestants:
        if one.run_id is not None and one.step is not None and one.name in rated:
            own.setdefault((one.run_id, one.split), []).append(one)
    for rows in own.values():
        rows.sort(key=lambda one: one.step or 0)
        if len(rows) < 2 or len({rated[one.name]["group"] for one in rows}) > 1:
            continue
        ratings = [rated[one.name]["rating"] for one in rows]
        points = [Point(one.step, r["value"], r["low"], r["high"]) for one, r in zip(rows, ratings, strict=True)]
        run = rows[0].run
        yield Line(run.name if run else "", run.method if run else "", points)


def _rating(standings: Standings, name: str) -> dict[str, Any] | None:
    return next((one["rating"] for one in standings if one["contestant"] == name), None)
