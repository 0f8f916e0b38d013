"""Fragments that pages of runs fetch: what boards say of a run, and what is being judged now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from judging.access import may_vote
from judging.boards import USUAL
from judging.models import Contestant, Rubric, Snapshot, Tournament
from judging.tournaments import progress
from runs.http import SignedIn, visible_run
from runs.models import Run
from runs.models.experiment import Person

TOURNAMENTS_AT_MOST = 10
SHOWN = 3


@dataclass(frozen=True)
class Placed:
    """A contestant on the newest board by a criterion. `snapshot` is None before the first, `standing` where the
    contestant is not on it: both are as boards say them in JSON."""

    contestant: Contestant
    rubric: Rubric
    snapshot: Snapshot | None
    standing: Mapping[str, Any] | None

    @property
    def board(self) -> str:
        """Its board's address."""
        place = reverse("tournament-board", args=[self.contestant.tournament_id])
        return f"{place}?criterion={self.rubric.criterion.slug}"

    @property
    def rating(self) -> Mapping[str, float | None] | None:
        """value, low, high; None where none can be given, as of who never lost."""
        return self.standing["rating"] if self.standing else None

    @property
    def ranks(self) -> Sequence[int] | None:
        """The first and the last rank that the intervals leave open."""
        return self.standing["rank_range"] if self.standing else None

    @property
    def votes(self) -> float:
        """How many verdicts the contestant was in, a half where two make one."""
        return self.standing["record"]["votes"] if self.standing else 0

    @property
    def rated(self) -> int:
        """How many it is ranked among: those of its group."""
        if self.snapshot is None or self.standing is None:
            return 0
        return sum(one["group"] == self.standing["group"] for one in self.snapshot.board["board"]["standings"])


def placed(person: Person, run: Run) -> list[Placed]:
    """Where the run stands, its newest tournaments first, as far as the person may see. Three queries."""
    seen = Tournament.objects.visible_to(person).filter(contestants__run=run).distinct().order_by("-pk")
    tournaments = list(seen.prefetch_related("rubrics__criterion")[:TOURNAMENTS_AT_MOST])
    boards = _boards(tournaments)
    stands = Contestant.objects.filter(tournament__in=tournaments, run=run).order_by("-tournament", "place")
    by_pk = {tournament.pk: tournament for tournament in tournaments}
    found = []
    for contestant in stands:
        contestant.tournament = by_pk[contestant.tournament_id]
        found += list(_of(contestant, boards))
    return found


def _boards(tournaments: Sequence[Tournament]) -> dict[tuple[int, int], Snapshot]:
    """(tournament, rubric) -> the newest board as it usually is."""
    kept = Snapshot.objects.filter(tournament__in=tournaments, asked=USUAL.to_json())
    newest = kept.order_by("tournament_id", "rubric_id", "-at", "-pk").distinct("tournament_id", "rubric_id")
    return {(one.tournament_id, one.rubric_id): one for one in newest}


def _of(contestant: Contestant, boards: Mapping[tuple[int, int], Snapshot]) -> Iterator[Placed]:
    for rubric in sorted(contestant.tournament.rubrics.all(), key=lambda one: one.pk):
        snapshot = boards.get((contestant.tournament_id, rubric.pk))
        standings = snapshot.board["board"]["standings"] if snapshot else []
        standing = next((one for one in standings if one["contestant"] == contestant.name), None)
        yield Placed(contestant, rubric, snapshot, standing)


@require_safe
def judging_news(request: SignedIn) -> HttpResponse:
    """A panel of the newest tournaments; nothing at all where the person sees none."""
    seen = Tournament.objects.visible_to(request.user)
    newest = progress(seen.order_by("-pk")[:SHOWN])
    if not newest:
        return HttpResponse(status=204)
    context = {"newest": newest, "total": seen.count(), "may_vote": may_vote(request.user)}
    return TemplateResponse(request, "judging/viewer_integration/news.html", context)


@require_safe
def run_ratings(request: SignedIn, uid: str) -> HttpResponse:
    """A panel; nothing at all where the run is in no tournament that the person may see."""
    found = placed(request.user, visible_run(request, uid))
    if not found:
        return HttpResponse(status=204)
    return TemplateResponse(request, "judging/viewer_integration/run_ratings.html", {"placed": found})
