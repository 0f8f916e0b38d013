"""The leaderboard of a tournament by one criterion: as it was worked out last, and asked for in other ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import slugify
from django.views.decorators.http import require_POST, require_safe

from judging.access import may_vote
from judging.boards import category_table, snapshots
from judging.boards.category_table import by_category
from judging.boards.charts import forest
from judging.boards.forms import HowForm
from judging.boards.schedule import CannotOrder, last_problem, open_order, order
from judging.boards.settings import BoardSettings
from judging.boards.snapshots import board_of, history_of, stamps
from judging.boards.tables import (
    apart,
    controlled,
    online,
    pairs,
    rank_chances,
    standings,
    standings_table,
    wins,
    wins_table,
)
from judging.boards.tasks import keep_boards
from judging.boards.votes import categories, speakers, verdicts_in
from judging.http import visible_tournament
from judging.models import Rubric, Snapshot, Tournament, rubrics_by_name, rubrics_of
from runs.charts import Chart, Table
from runs.http import SignedIn, UnknownChoice, chart_response, must_be_one_of, selected

HASH_SHOWN = 12
SPEAKERS_A_PAGE = 50
TABLES = {
    "standings": standings_table, "pairs": pairs, "wins": wins_table,
    "categories": category_table.table,
}  # fmt: skip


@dataclass(frozen=True)
class BoardAddress:
    """Identify the board that an address asks for: the tournament, the criterion, and the settings of the board."""

    tournament: Tournament
    rubrics: dict[Rubric, str]
    rubric: Rubric
    how: BoardSettings

    @property
    def criterion(self) -> str:
        """The criterion as addresses, files and the API spell it."""
        return self.rubrics[self.rubric]

    @property
    def query(self) -> str:
        """The rest of its address."""
        return "&".join(filter(None, [urlencode({"criterion": self.criterion}), self.how.query]))

    @property
    def url(self) -> str:
        """Return the board's address."""
        return f"{reverse('tournament-board', args=[self.tournament.pk])}?{self.query}"


def place(request: SignedIn, pk: int) -> BoardAddress:
    """Return the board that this address selects. Raise Http404 without a criterion, UnknownChoice for another one."""
    found = visible_tournament(request, pk)
    rubrics = rubrics_of(found)
    if not rubrics:
        raise Http404("this tournament has no criterion, so it has no board")
    rubric = selected_rubric(request, rubrics)
    names = dict.fromkeys(found.contestants.order_by("place").values_list("name", flat=True))
    try:
        how = BoardSettings.of(request.GET, names, categories(found) if request.GET.get("category") else None)
    except ValueError as error:
        raise UnknownChoice(str(error)) from error
    return BoardAddress(found, rubrics, rubric, how)


def selected_rubric(request: SignedIn, rubrics: dict[Rubric, str]) -> Rubric:
    """Return the rubric that the address names, or the first. Raise UnknownChoice."""
    asked = request.GET.get("criterion", "")
    if not asked:
        return next(iter(rubrics))
    spelled = rubrics_by_name(rubrics)
    if asked not in spelled:
        raise UnknownChoice(must_be_one_of("criterion", list(rubrics.values()), asked))
    return spelled[asked]


@require_safe
def tournament_board(request: SignedIn, pk: int) -> HttpResponse:
    """The page; for htmx, how far the board is, which reloads a page that waits for its first."""
    at = place(request, pk)
    snapshot = board_of(at.tournament, at.rubric, at.how)
    context = standing(request, at, snapshot)
    if request.htmx:
        response: HttpResponse = TemplateResponse(request, "judging/boards/board.html#standing", context)
        if context["is_new"] and not context["shown"]:
            response["HX-Refresh"] = "true"
        return response
    return TemplateResponse(request, "judging/boards/board.html", context | _shown(request, at, snapshot))


@require_POST
def tournament_board_order(request: SignedIn, pk: int) -> HttpResponse:
    """Orders the board that the form asks for, and leads to it."""
    at = place(request, pk)
    if not may_vote(request.user):
        raise PermissionDenied
    form = HowForm(request.POST, tournament=at.tournament, rubric=at.rubric, how=at.how)
    if not form.is_valid():
        snapshot = board_of(at.tournament, at.rubric, at.how)
        context = standing(request, at, snapshot) | _shown(request, at, snapshot) | {"form": form}
        return TemplateResponse(request, "judging/boards/board.html", context, status=400)
    wanted = BoardAddress(at.tournament, at.rubrics, at.rubric, form.how)
    snapshot = board_of(wanted.tournament, wanted.rubric, wanted.how)
    if snapshot is None or not _is_current(wanted, snapshot):
        try:
            order(wanted.tournament, wanted.rubric, wanted.how, request.user)
        except CannotOrder as error:
            messages.error(request, str(error))
        else:
            keep_boards.delay()
    return redirect(wanted.url)


@require_safe
def tournament_board_chart(request: SignedIn, pk: int) -> HttpResponse:
    """The chart of its ratings: fresh words and figure, its table, or its data as CSV."""
    at = place(request, pk)
    snapshot = board_of(at.tournament, at.rubric, at.how)
    if snapshot is None:
        raise Http404("this board was never worked out")
    return chart_response(request, _forest(at, snapshot), _file(at, "ratings"))


@require_safe
def tournament_board_file(request: SignedIn, pk: int) -> HttpResponse:
    """Return what the page shows as a file: `as=json`, all of it; `as=csv`, the `table` standings, pairs, wins or
    categories. Raise Http404 if the board was never computed."""
    at = place(request, pk)
    snapshot = board_of(at.tournament, at.rubric, at.how)
    if snapshot is None:
        raise Http404("this board was never worked out")
    if selected(request, "as", ("json", "csv"), "json") == "csv":
        name = selected(request, "table", list(TABLES), "standings")
        return _csv(TABLES[name](snapshot.board), _file(at, name))
    said = {
        "tournament": at.tournament.name, "criterion": at.criterion, "rubric": str(at.rubric),
        "asked": snapshot.asked, "at": snapshot.at.isoformat(), "votes": snapshot.votes,
        "last_verdict": snapshot.last_verdict, "hash": snapshot.digest, "report": snapshot.board,
        "from": [one.to_json() for one in speakers(at.tournament, at.rubric, at.how)],
    }  # fmt: skip
    headers = {"Content-Disposition": f'attachment; filename="{_file(at, "board")}.json"'}
    return JsonResponse(said, headers=headers, json_dumps_params={"ensure_ascii": False})


def standing(request: SignedIn, at: BoardAddress, snapshot: Snapshot | None) -> dict[str, Any]:
    """Return the context of the board's status: when and from what it was computed, and how many verdicts are newer."""
    shown = request.GET.get("shown", "")
    newer = 0 if snapshot is None else snapshots.newer(at.tournament, at.rubric, at.how, snapshot)
    has_votes = snapshot is not None or verdicts_in(at.tournament, at.rubric).exists()
    return {
        "at": at, "tournament": at.tournament, "rubric": at.rubric, "snapshot": snapshot, "newer": newer,
        "is_current": snapshot is not None and _is_current(at, snapshot),
        "order": open_order(at.tournament, at.rubric, at.how),
        "problem": "" if snapshot else last_problem(at.tournament, at.rubric, at.how),
        "has_votes": has_votes,
        "all_identical": not has_votes and at.tournament.comparisons.are_all_identical(),
        "shown": shown, "is_new": snapshot is not None and str(snapshot.pk) != shown,
        "may_order": may_vote(request.user),
    }  # fmt: skip


def _shown(request: SignedIn, at: BoardAddress, snapshot: Snapshot | None) -> dict[str, Any]:
    heard = speakers(at.tournament, at.rubric, at.how)
    context: dict[str, Any] = {
        "rubrics": at.rubrics,
        "form": HowForm(tournament=at.tournament, rubric=at.rubric, how=at.how),
        "speakers": Paginator(heard, SPEAKERS_A_PAGE).get_page(request.GET.get("speakers")),
        "left_out": sum(bool(one.why) for one in heard),
        "shown": "" if snapshot is None else str(snapshot.pk),
        "is_new": False,
    }
    if snapshot is None:
        return context
    said = snapshot.board
    return context | {
        "said": said, "board": said["board"], "tally": said["board"]["tally"],
        "missing": [(name, count) for name, count in said["board"]["tally"]["missing"].items() if count],
        "hash_shown": snapshot.digest[:HASH_SHOWN], "chart": _forest(at, snapshot),
        "standings": standings(said), "wins": wins(said), "apart": apart(said),
        "rank_chances": rank_chances(said), "controlled": controlled(said),
        "online": online(said),
        "by_category": by_category(said, at.how, at.criterion),
        "is_one_group": len({one["group"] for one in said["board"]["standings"]}) == 1,
        "has_history": len(history_of(at.tournament, at.rubric).values_list("pk")[:2]) > 1,
    }  # fmt: skip


def _is_current(at: BoardAddress, snapshot: Snapshot) -> bool:
    now = stamps([at.tournament.pk]).get((at.tournament.pk, at.rubric.pk), "")
    return snapshot.stamp == now


def _forest(at: BoardAddress, snapshot: Snapshot) -> Chart:
    return forest(snapshot.board, at.tournament.methods)


def _csv(table: Table, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return HttpResponse(table.csv(), content_type="text/csv; charset=utf-8", headers=headers)


def _file(at: BoardAddress, what: str) -> str:
    return slugify(f"{at.tournament.name} {at.rubric.criterion.slug} {what}")
