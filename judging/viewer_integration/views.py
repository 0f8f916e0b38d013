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
from judging.boards import DEFAULT_SETTINGS
from judging.boards.win_rates import WinRate, standing_win_rate
from judging.models import Contestant, Rubric, Snapshot, Tournament
from judging.tournaments import tournament_progress
from runs.http import SignedIn, visible_run
from runs.models import Run
from runs.models.experiment import Person

MAX_TOURNAMENTS = 10
MAX_NEWS = 3


@dataclass(frozen=True)
class LeaderboardEntry:
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
        """Return the URL of the leaderboard."""
        address = reverse("tournament-board", args=[self.contestant.tournament_id])
        return f"{address}?criterion={self.rubric.criterion.slug}"

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
    def win_rate(self) -> WinRate | None:
        """Return the share of the votes that the contestant won; None without votes."""
        if self.snapshot is None or self.standing is None:
            return None
        return standing_win_rate(self.snapshot.board, self.standing)

    @property
    def group_size(self) -> int:
        """Return the number of contestants in its group, among which it is ranked. 0 without an entry."""
        if self.snapshot is None or self.standing is None:
            return 0
        return sum(
            standing["group"] == self.standing["group"] for standing in self.snapshot.board["board"]["standings"]
        )


def list_leaderboard_entries(person: Person, run: Run) -> list[LeaderboardEntry]:
    """Return the run's leaderboard entries in its newest 10 tournaments that the user may see, newest first.

    Three queries.
    """
    visible = Tournament.objects.visible_to(person).filter(contestants__run=run).distinct().order_by("-pk")
    tournaments = list(visible.prefetch_related("rubrics__criterion")[:MAX_TOURNAMENTS])
    boards = _newest_snapshots(tournaments)
    contestants = Contestant.objects.filter(tournament__in=tournaments, run=run).order_by("-tournament", "place")
    by_pk = {tournament.pk: tournament for tournament in tournaments}
    entries = []
    for contestant in contestants:
        contestant.tournament = by_pk[contestant.tournament_id]
        entries += list(_contestant_entries(contestant, boards))
    return entries


def _newest_snapshots(tournaments: Sequence[Tournament]) -> dict[tuple[int, int], Snapshot]:
    """Return the newest leaderboard with default settings by (tournament, rubric)."""
    snapshots = Snapshot.objects.filter(tournament__in=tournaments, asked=DEFAULT_SETTINGS.to_json())
    newest = snapshots.order_by("tournament_id", "rubric_id", "-at", "-pk").distinct("tournament_id", "rubric_id")
    return {(snapshot.tournament_id, snapshot.rubric_id): snapshot for snapshot in newest}


def _contestant_entries(
    contestant: Contestant, boards: Mapping[tuple[int, int], Snapshot]
) -> Iterator[LeaderboardEntry]:
    for rubric in sorted(contestant.tournament.rubrics.all(), key=lambda rubric: rubric.pk):
        snapshot = boards.get((contestant.tournament_id, rubric.pk))
        standings = snapshot.board["board"]["standings"] if snapshot else []
        standing = next((row for row in standings if row["contestant"] == contestant.name), None)
        yield LeaderboardEntry(contestant, rubric, snapshot, standing)


@require_safe
def judging_news(request: SignedIn) -> HttpResponse:
    """Render a panel of the three newest tournaments; reply 204 if the user may see none."""
    visible = Tournament.objects.visible_to(request.user)
    newest = tournament_progress(visible.order_by("-pk")[:MAX_NEWS])
    if not newest:
        return HttpResponse(status=204)
    context = {"newest": newest, "total": visible.count(), "may_vote": may_vote(request.user)}
    return TemplateResponse(request, "judging/viewer_integration/newest_tournaments.html", context)


@require_safe
def run_ratings(request: SignedIn, uid: str) -> HttpResponse:
    """Render a panel of the run's ratings; reply 204 if the run is in no tournament that the user may see."""
    run = visible_run(request, uid)
    entries = list_leaderboard_entries(request.user, run)
    if not entries:
        return HttpResponse(status=204)
    has_unrated = any(entry.rating is None and entry.win_rate for entry in entries)
    context = {"run": run, "entries": entries, "has_unrated": has_unrated}
    return TemplateResponse(request, "judging/viewer_integration/run_ratings.html", context)
