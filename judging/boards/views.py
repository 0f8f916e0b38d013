"""Views of a tournament's leaderboard by one criterion: the board computed last, and boards with other settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import slugify
from django.views.decorators.http import require_POST, require_safe

from judging.access import may_vote
from judging.boards.category_table import category_context
from judging.boards.charts import forest_chart
from judging.boards.forms import BoardSettingsForm
from judging.boards.leaders import leader_sentence
from judging.boards.other_estimates import controlled_ratings, online_elo
from judging.boards.schedule import OrderRefused, add_order, is_updated_automatically, last_problem, open_order
from judging.boards.settings import BoardSettings
from judging.boards.snapshots import board_stamps, newer_verdicts, newest_snapshot, snapshot_history
from judging.boards.tables import page_standings, pairs_table, rank_chances, win_matrix
from judging.boards.tasks import update_boards
from judging.boards.votes import list_raters, parse_settings, verdicts_in
from judging.boards.win_rates import has_unrated
from judging.http import visible_tournament
from judging.models import Rubric, Snapshot, Tournament, rubrics_by_name, rubrics_of
from runs.charts import Chart
from runs.http import SignedIn, UnknownChoice, chart_response, must_be_one_of

HASH_LENGTH = 12
RATERS_PER_PAGE = 50


@dataclass(frozen=True)
class BoardAddress:
    """Identity of the board that a URL selects: the tournament, the criterion and the settings of the board."""

    tournament: Tournament
    rubrics: dict[Rubric, str]
    rubric: Rubric
    settings: BoardSettings

    @property
    def criterion(self) -> str:
        """Return the criterion's name in URLs, files and the API."""
        return self.rubrics[self.rubric]

    @property
    def query(self) -> str:
        """Return the URL query that selects this board."""
        return "&".join(filter(None, [urlencode({"criterion": self.criterion}), self.settings.query]))

    @property
    def url(self) -> str:
        """Return the board's URL."""
        return f"{reverse('tournament-board', args=[self.tournament.pk])}?{self.query}"

    def file_name(self, suffix: str) -> str:
        """Return the name of a file of this board, without its ending."""
        return slugify(f"{self.tournament.name} {self.rubric.criterion.slug} {suffix}")


def get_board_address(request: SignedIn, pk: int) -> BoardAddress:
    """Return the board that this URL selects.

    Raise Http404 if the tournament has no criterion, UnknownChoice if the criterion or a setting is unknown.
    """
    tournament = visible_tournament(request, pk)
    rubrics = rubrics_of(tournament)
    if not rubrics:
        raise Http404("This tournament has no criterion, so it has no leaderboard.")
    rubric = selected_rubric(request, rubrics)
    try:
        settings = parse_settings(tournament, request.GET)
    except ValueError as error:
        raise UnknownChoice(str(error)) from error
    return BoardAddress(tournament, rubrics, rubric, settings)


def selected_rubric(request: SignedIn, rubrics: dict[Rubric, str]) -> Rubric:
    """Return the rubric that the URL names, or the first. Raise UnknownChoice if the name is unknown."""
    name = request.GET.get("criterion", "")
    if not name:
        return next(iter(rubrics))
    by_name = rubrics_by_name(rubrics)
    if name not in by_name:
        raise UnknownChoice(must_be_one_of("criterion", list(rubrics.values()), name))
    return by_name[name]


@require_safe
def tournament_board(request: SignedIn, pk: int) -> HttpResponse:
    """Render the page. For htmx, render only the board's status, or the whole board if the page awaits a new one."""
    address = get_board_address(request, pk)
    snapshot = newest_snapshot(address.tournament, address.rubric, address.settings)
    context = status_context(request, address, snapshot)
    if not request.htmx:
        context |= _board_context(request, address, snapshot)
        return TemplateResponse(request, "judging/boards/board.html", context)
    if not (context["is_new"] and request.GET.get("awaited")):
        return TemplateResponse(request, "judging/boards/board.html#status", context)
    # A board that replaced another one is read in peace: only an order replaces it again.
    context |= _board_context(request, address, snapshot) | {"is_awaited": context["order"] is not None}
    headers = {"HX-Retarget": "#board", "HX-Reswap": "outerHTML"}
    return TemplateResponse(request, "judging/boards/board.html#board", context, headers=headers)


@require_POST
def tournament_board_order(request: SignedIn, pk: int) -> HttpResponse:
    """Order the board with the settings of the form, and redirect to it."""
    address = get_board_address(request, pk)
    if not may_vote(request.user):
        raise PermissionDenied
    form = BoardSettingsForm(
        request.POST, tournament=address.tournament, rubric=address.rubric, settings=address.settings
    )
    if not form.is_valid():
        snapshot = newest_snapshot(address.tournament, address.rubric, address.settings)
        context = (
            status_context(request, address, snapshot) | _board_context(request, address, snapshot) | {"form": form}
        )
        return TemplateResponse(request, "judging/boards/board.html", context, status=400)
    target = BoardAddress(address.tournament, address.rubrics, address.rubric, form.settings)
    snapshot = newest_snapshot(target.tournament, target.rubric, target.settings)
    if snapshot is None or not _is_current(target, snapshot):
        try:
            add_order(target.tournament, target.rubric, target.settings, request.user)
        except OrderRefused as error:
            messages.error(request, str(error))
        else:
            update_boards.delay()
    return redirect(target.url)


@require_safe
def tournament_board_chart(request: SignedIn, pk: int) -> HttpResponse:
    """Return the chart of the board's ratings: its updated texts and figure, its table, or its data as CSV."""
    address = get_board_address(request, pk)
    snapshot = newest_snapshot(address.tournament, address.rubric, address.settings)
    if snapshot is None:
        raise Http404("This leaderboard has not been computed.")
    return chart_response(request, _forest_chart(address, snapshot), address.file_name("ratings"))


def status_context(request: SignedIn, address: BoardAddress, snapshot: Snapshot | None) -> dict[str, Any]:
    """Return the context of the board's status: when and from what it was computed, and how many verdicts are newer.

    `is_due`: whether it is computed without an order. `is_awaited`: whether the page shows the next board by itself.
    """
    displayed_pk = request.GET.get("shown", "")
    newer, newer_since = newer_verdicts(address.tournament, address.rubric, address.settings, snapshot)
    has_votes = snapshot is not None or newer > 0 or verdicts_in(address.tournament, address.rubric).exists()
    is_current = snapshot is not None and _is_current(address, snapshot)
    order = open_order(address.tournament, address.rubric, address.settings)
    is_due = (
        has_votes and not is_current and address.settings.is_default and is_updated_automatically(address.tournament)
    )
    # A page that shows a board is not replaced by each board that later votes give.
    is_read = bool(request.htmx and displayed_pk and not request.GET.get("awaited"))
    return {
        "board_address": address, "tournament": address.tournament, "rubric": address.rubric, "snapshot": snapshot,
        "newer": newer, "newer_since": newer_since, "is_current": is_current, "order": order, "is_due": is_due,
        "is_awaited": order is not None or (is_due and not is_read),
        "problem": "" if snapshot else last_problem(address.tournament, address.rubric, address.settings),
        "has_votes": has_votes,
        "all_identical": not has_votes and address.tournament.comparisons.are_all_identical(),
        "displayed_pk": displayed_pk, "is_new": snapshot is not None and str(snapshot.pk) != displayed_pk,
        "may_order": may_vote(request.user),
    }  # fmt: skip


def _board_context(request: SignedIn, address: BoardAddress, snapshot: Snapshot | None) -> dict[str, Any]:
    raters = list_raters(address.tournament, address.rubric, address.settings)
    context: dict[str, Any] = {
        "rubrics": address.rubrics,
        "form": BoardSettingsForm(tournament=address.tournament, rubric=address.rubric, settings=address.settings),
        "raters": Paginator(raters, RATERS_PER_PAGE).get_page(request.GET.get("speakers")),
        "left_out": sum(bool(rater.reason) for rater in raters),
        "displayed_pk": "" if snapshot is None else str(snapshot.pk),
        "is_new": False,
    }
    if snapshot is None:
        return context
    board = snapshot.board
    return context | {
        "report": board, "board": board["board"], "tally": board["board"]["tally"],
        "missing": [(name, count) for name, count in board["board"]["tally"]["missing"].items() if count],
        "short_hash": snapshot.digest[:HASH_LENGTH], "chart": _forest_chart(address, snapshot),
        "leader": leader_sentence(board["board"]["standings"], board["board"]["asked"]["level"]),
        "has_ratings": any(row["rating"] is not None for row in board["board"]["standings"]),
        "has_unrated": has_unrated(board),
        "standings": page_standings(board), "wins": win_matrix(board),
        "differences": pairs_table(board).select("pair", "points", "interval", "decided"),
        "rank_chances": rank_chances(board), "controlled": controlled_ratings(board),
        "online": online_elo(board),
        "by_category": category_context(board, address.settings, address.criterion),
        "has_history": len(snapshot_history(address.tournament, address.rubric).values_list("pk")[:2]) > 1,
    }  # fmt: skip


def _is_current(address: BoardAddress, snapshot: Snapshot) -> bool:
    now = board_stamps([address.tournament.pk]).get((address.tournament.pk, address.rubric.pk), "")
    return snapshot.stamp == now


def _forest_chart(address: BoardAddress, snapshot: Snapshot) -> Chart:
    return forest_chart(snapshot.board, address.tournament.methods)
