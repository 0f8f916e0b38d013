"""List of all tournaments, with the progress of each, and the trash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from judging.access import may_create, may_manage
from judging.boards import newest_standings
from judging.boards.format import BoardData
from judging.boards.leaders import leader_sentence
from judging.models import Comparison, Contestant, Tournament, rubric_names
from judging.tournaments.commands import DAYS_IN_TRASH
from judging.voting import count_judged_pairs
from runs.http import PaletteEntry, SignedIn, find_rows, page_of, require_choice
from runs.models.experiment import Person

TOURNAMENTS_PER_PAGE = 20
SHELVES = ("current", "bin")


@dataclass(frozen=True)
class Progress:
    """Progress of a tournament: `judged` of its `pairs` have as many voters as they need.

    `identical` further pairs have two equal responses and are shown to nobody.
    """

    tournament: Tournament
    pairs: int
    judged: int
    identical: int
    contestants: int


@require_safe
def tournaments(request: SignedIn) -> HttpResponse:
    """Render the list, or the tournaments in the trash, which can be restored."""
    shelf = require_choice(request, "shelf", SHELVES, "current")
    rows = _shelf_rows(request, shelf).select_related("owner").prefetch_related("rubrics__criterion")
    page = page_of(request, rows.order_by("-created_at", "-pk"), TOURNAMENTS_PER_PAGE)
    standings = newest_standings([row.pk for row in page])
    entries = [
        (
            row_progress,
            may_manage(request.user, row_progress.tournament),
            leader_sentences(row_progress.tournament, standings),
        )
        for row_progress in tournament_progress(page)
    ]
    context = {
        "page": page, "entries": entries, "shelf": shelf, "may_create": may_create(request.user), "days": DAYS_IN_TRASH,
    }  # fmt: skip
    return TemplateResponse(request, "judging/tournaments/tournaments.html", context)


def tournament_entries(person: Person, words: Sequence[str]) -> list[PaletteEntry]:
    """Return palette entries of the newest visible tournaments with every word in their names."""
    rows = find_rows(Tournament.objects.visible_to(person), words, "name")
    return [PaletteEntry(gettext("tournament"), row.name, row.question, row.get_absolute_url()) for row in rows]


def leader_sentences(
    tournament: Tournament, standings_by_board: Mapping[tuple[int, int], Sequence[BoardData]]
) -> list[tuple[str, str]]:
    """Return (criterion, sentence about the leader of its board) for each criterion of a tournament.

    Leave out criteria without a board yet.
    """
    names = rubric_names(sorted(tournament.rubrics.all(), key=lambda rubric: rubric.pk))
    boards = [(name, standings_by_board.get((tournament.pk, rubric.pk))) for rubric, name in names.items()]
    return [(name, leader_sentence(standings)) for name, standings in boards if standings is not None]


def _shelf_rows(request: SignedIn, shelf: str) -> QuerySet[Tournament]:
    if shelf == "current":
        return Tournament.objects.visible_to(request.user)
    return Tournament.objects.permitted_to(request.user).filter(deleted_at__isnull=False)


def tournament_progress(rows: Iterable[Tournament]) -> list[Progress]:
    """Return the progress of each tournament, with four queries for any number of them."""
    by_pk = {row.pk: row for row in rows}
    judged_counts = count_judged_pairs(by_pk)
    comparisons = Comparison.objects.between_contestants().filter(tournament__in=by_pk)
    pairs, identical = (
        _count_by_tournament(comparisons.filter(is_identical=is_identical)) for is_identical in (False, True)
    )
    contestants = _count_by_tournament(Contestant.objects.filter(tournament__in=by_pk))
    return [
        Progress(row, pairs.get(pk, 0), judged_counts[pk], identical.get(pk, 0), contestants.get(pk, 0))
        for pk, row in by_pk.items()
    ]


def _count_by_tournament(rows: QuerySet[Comparison] | QuerySet[Contestant]) -> dict[int, int]:
    return dict(rows.order_by().values_list("tournament").annotate(Count("pk")))
