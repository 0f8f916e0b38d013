"""Views of fragments that other pages fetch: a run's ratings on leaderboards, and the newest tournaments."""

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
    """A contestant and its entry on the newest leaderboard of a criterion.

    `snapshot` is None if there is no leaderboard yet; `standing` is the contestant's entry in the leaderboard's JSON,
    None if the contestant is not on it.
    """

    contestant: Contestant
    rubric: Rubric
    snapshot: Snapshot | None
    standing: Mapping[str, Any] | None

    @property
    def board(self) -> str:
        """Return the address of the leaderboard."""
        place = reverse("tournament-board", args=[self.contestant.tournament_id])
        return f"{place}?criterion={self.rubric.criterion.slug}"

    @property
    def rating(self) -> Mapping[str, float | None] | None:
        """Return the rating as value, low and high; None without an entry. Each is None if it cannot be estimated, for
        example if the contestant never lost.
        """
        return self.standing["rating"] if self.standing else None

    @property
    def ranks(self) -> Sequence[int] | None:
        """Return the first and the last rank that the intervals allow, or None without an entry."""
        return self.standing["rank_range"] if self.standing else None

    @property
    def votes(self) -> float:
        """Return the number of verdicts on the contestant; two that count as one are half each, 0 without entry."""
        return self.standing["record"]["votes"] if self.standing else 0

    @property
    def rated(self) -> int:
        """Return the number of contestants in its group, among which it is ranked. 0 without an entry."""
        if self.snapshot is None or self.standing is None:
            return 0
        return sum(one["group"] == self.standing["group"] for one in self.snapshot.board["board"]["standings"])


def placed(person: Person, run: Run) -> list[Placed]:
    """Return the run's leaderboard entries in its newest 10 tournaments that the user may see, newest first.

    Three queries.
    """
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
    """Return the newest leaderboard with default settings by (tournament, rubric)."""
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
    """Render a panel of the three newest tournaments; reply 204 if the user may see none."""
    seen = Tournament.objects.visible_to(request.user)
    newest = progress(seen.order_by("-pk")[:SHOWN])
    if not newest:
        return HttpResponse(status=204)
    context = {"newest": newest, "total": seen.count(), "may_vote": may_vote(request.user)}
    return TemplateResponse(request, "judging/viewer_integration/news.html", context)


@require_safe
def run_ratings(request: SignedIn, uid: str) -> HttpResponse:
    """Render a panel of the run's ratings; reply 204 if the run is in no tournament that the user may see."""
    found = placed(request.user, visible_run(request, uid))
    if not found:
        return HttpResponse(status=204)
    return TemplateResponse(request, "judging/viewer_integration/run_ratings.html", {"placed": found})
