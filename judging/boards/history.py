"""Show how ratings changed: over stored boards, and over the steps of runs whose checkpoints are contestants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from judging.boards.charts import Line, Point, ratings_over_steps, ratings_over_time
from judging.boards.snapshots import STANDINGS, snapshot_history
from judging.boards.views import BoardAddress, get_board_address
from judging.models import Contestant
from runs.charts import Chart
from runs.http import SignedIn, UnknownChoice, chart_response

Standings = list[dict[str, Any]]


@require_safe
def tournament_board_history(request: SignedIn, pk: int) -> HttpResponse:
    """Render the page of a board's history."""
    address = get_board_address(request, pk)
    boards = _stored_boards(address)
    charts = _charts(address, boards)
    context = {
        "board_address": address, "tournament": address.tournament, "rubric": address.rubric,
        "rubrics": address.rubrics, "charts": charts.values(), "board_count": len(boards),
        "has_steps": "steps" in charts,
    }  # fmt: skip
    return TemplateResponse(request, "judging/boards/board_history.html", context)


@require_safe
def tournament_board_history_chart(request: SignedIn, pk: int) -> HttpResponse:
    """Return one chart of the history: its updated texts and figure, its table, or its data as CSV."""
    address = get_board_address(request, pk)
    charts, name = _charts(address, _stored_boards(address)), request.GET.get("name", "")
    if name not in charts:
        raise UnknownChoice(
            f"name must be one of {', '.join(charts) or 'none: no leaderboard was stored'}, not {name!r}"
        )
    return chart_response(request, charts[name], f"{address.tournament.name} {address.rubric.criterion.slug} {name}")


def _stored_boards(address: BoardAddress) -> list[tuple[Any, Standings]]:
    rows = snapshot_history(address.tournament, address.rubric)
    return list(rows.values_list("at", STANDINGS))


def _charts(address: BoardAddress, boards: list[tuple[Any, Standings]]) -> dict[str, Chart]:
    if not boards:
        return {}
    contestants, methods = (
        list(address.tournament.contestants.select_related("run").order_by("place")),
        address.tournament.methods,
    )
    charts = {}
    if steps := list(_step_lines(contestants, boards[-1][1])):
        charts["steps"] = ratings_over_steps(steps)
    if len(boards) > 1:
        charts["time"] = ratings_over_time(
            [_time_line(contestant, methods[contestant.name], boards) for contestant in contestants]
        )
    return charts


def _time_line(contestant: Contestant, method: str, boards: list[tuple[Any, Standings]]) -> Line:
    points = [
        Point(at, rating["value"], rating["low"], rating["high"])
        for at, standings in boards
        for rating in [_rating(standings, contestant.name)]
        if rating is not None
    ]
    return Line(contestant.name, method, points)


def _step_lines(contestants: list[Contestant], standings: Standings) -> Iterable[Line]:
    """Yield a line for each run with at least two rated checkpoints, if their ratings are on one scale."""
    rated = {row["contestant"]: row for row in standings if row["rating"] is not None}
    by_run: dict[tuple[int, str], list[Contestant]] = {}
    for contestant in contestants:
        if contestant.run_id is not None and contestant.step is not None and contestant.name in rated:
            by_run.setdefault((contestant.run_id, contestant.split), []).append(contestant)
    for checkpoints in by_run.values():
        checkpoints.sort(key=lambda contestant: contestant.step or 0)
        if len(checkpoints) < 2 or len({rated[contestant.name]["group"] for contestant in checkpoints}) > 1:
            continue
        ratings = [rated[contestant.name]["rating"] for contestant in checkpoints]
        points = [
            Point(contestant.step, r["value"], r["low"], r["high"])
            for contestant, r in zip(checkpoints, ratings, strict=True)
        ]
        run = checkpoints[0].run
        yield Line(run.name if run else "", run.method if run else "", points)


def _rating(standings: Standings, name: str) -> dict[str, Any] | None:
    return next((row["rating"] for row in standings if row["contestant"] == name), None)
