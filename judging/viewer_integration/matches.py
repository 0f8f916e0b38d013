"""Find contestants in the viewer's columns, and their comparisons whose verdicts the user may see.

Voters of a tournament judge blind, and may begin at any time: until it is closed, they see verdicts only on pairs that
they have judged themselves. Users who manage it see all verdicts, unless they vote too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import Q

from judging.access import may_manage
from judging.models import Contestant, Tournament, Turn, Voter
from runs.responses.viewer import Columns
from runs.responses.viewer.columns import SPLIT

CACHE_KEY = "judging: met"


@dataclass(frozen=True)
class Matches:
    """Tournaments in which the pinned column met others. All fields are lists of primary keys.

    pinned: the pinned column's contestants; others: the other columns' contestants. blind: tournaments in which the
    user votes or still may; voters: the user's voters there.
    """

    tournaments: list[int]
    pinned: list[int]
    others: list[int]
    blind: list[int]
    voters: list[int]

    @property
    def are_visible(self) -> Q:
        """Return the condition for comparisons whose verdicts the user may see."""
        own = Turn.objects.filter(voter__in=self.voters, ended_at__isnull=False)
        return ~Q(tournament__in=self.blind) | Q(pk__in=own.values("comparison"))


def find_matches(columns: Columns) -> Matches:
    """Return the matches of the columns that the user may see. A few queries first, none for the same columns again."""
    if CACHE_KEY not in columns.cache:
        columns.cache[CACHE_KEY] = _find_matches(columns) if columns.all else Matches([], [], [], [], [])
    matches: Matches = columns.cache[CACHE_KEY]
    return matches


def _find_matches(columns: Columns) -> Matches:
    is_in_column = [Q(run=column.run, step=column.step) for column in columns.all]
    visible = Tournament.objects.visible_to(columns.person)
    contestants = Contestant.objects.filter(reduce(or_, is_in_column), split=SPLIT, tournament__in=visible)
    rows = list(contestants.values_list("pk", "tournament", "run", "step"))
    pin = (columns.pinned.run.pk, columns.pinned.step)
    pinned = {tournament: pk for pk, tournament, *column in rows if tuple(column) == pin}
    others = [(pk, tournament) for pk, tournament, *column in rows if tuple(column) != pin and tournament in pinned]
    tournaments = sorted({tournament for _, tournament in others})
    open_tournaments = list(visible.filter(pk__in=tournaments, closed_at=None))
    voters = dict(
        Voter.objects.filter(user=columns.person.pk, tournament__in=open_tournaments).values_list("tournament", "pk")
    )
    blind = [
        tournament.pk
        for tournament in open_tournaments
        if tournament.pk in voters or not may_manage(columns.person, tournament)
    ]
    pinned_contestants = [pinned[tournament] for tournament in tournaments]
    return Matches(tournaments, pinned_contestants, [pk for pk, _ in others], blind, list(voters.values()))
