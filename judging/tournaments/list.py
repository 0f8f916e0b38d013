"""The list of all tournaments, with the progress of each; and the bin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from judging.access import may_hold, may_look_after
from judging.boards import leading
from judging.boards.format import Said, leader
from judging.models import Comparison, Contestant, Tournament, rubric_names
from judging.tournaments.commands import DAYS_IN_BIN
from judging.voting import judged
from runs.http import PaletteEntry, SignedIn, find_rows, page_of, selected
from runs.models.experiment import Person

TOURNAMENTS_A_PAGE = 20
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
    """Render the list, or the tournaments in the bin, which can be restored."""
    shelf = selected(request, "shelf", SHELVES, "current")
    found = _listed(request, shelf).select_related("owner").prefetch_related("rubrics__criterion")
    page = page_of(request, found.order_by("-created_at", "-pk"), TOURNAMENTS_A_PAGE)
    led = leading([one.pk for one in page])
    entries = [
        (one, may_look_after(request.user, one.tournament), leaders(one.tournament, led)) for one in progress(page)
    ]
    context = {
        "page": page, "entries": entries, "shelf": shelf, "may_hold": may_hold(request.user), "days": DAYS_IN_BIN,
    }  # fmt: skip
    return TemplateResponse(request, "judging/tournaments/tournaments.html", context)


def tournament_entries(person: Person, words: Sequence[str]) -> list[PaletteEntry]:
    """Return palette entries of the newest visible tournaments with every word in their names."""
    rows = find_rows(Tournament.objects.visible_to(person), words, "name")
    return [PaletteEntry(gettext("tournament"), row.name, row.question, row.get_absolute_url()) for row in rows]


def leaders(tournament: Tournament, led: Mapping[tuple[int, int], Sequence[Said]]) -> list[tuple[str, str]]:
    """Return (criterion, sentence about who leads its board) for each criterion of a tournament.

    Leave out criteria without a board yet.
    """
    names = rubric_names(sorted(tournament.rubrics.all(), key=lambda one: one.pk))
    boards = [(name, led.get((tournament.pk, rubric.pk))) for rubric, name in names.items()]
    return [(name, leader(standings)) for name, standings in boards if standings is not None]


def _listed(request: SignedIn, shelf: str) -> QuerySet[Tournament]:
    if shelf == "current":
        return Tournament.objects.visible_to(request.user)
    return Tournament.objects.permitted_to(request.user).filter(deleted_at__isnull=False)


def progress(found: Iterable[Tournament]) -> list[Progress]:
    """Return the progress of each tournament, with four queries for any number of them."""
    by_pk = {one.pk: one for one in found}
    done = judged(by_pk)
    met = Comparison.objects.between_contestants().filter(tournament__in=by_pk)
    pairs, identical = (_counted(met.filter(is_identical=is_identical)) for is_identical in (False, True))
    contestants = _counted(Contestant.objects.filter(tournament__in=by_pk))
    return [
        Progress(one, pairs.get(pk, 0), done[pk], identical.get(pk, 0), contestants.get(pk, 0))
        for pk, one in by_pk.items()
    ]


def _counted(rows: QuerySet[Comparison] | QuerySet[Contestant]) -> dict[int, int]:
    return dict(rows.order_by().values_list("tournament").annotate(Count("pk")))
