"""Which contestants stand in the viewer's columns, and which of their comparisons somebody may see the verdicts of.

Whoever votes in a tournament judges blind, and may begin any time: until it is closed they see verdicts on pairs that
they have judged themselves, and on no others. Who looks after it sees all of them, unless they vote too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import Q

from judging.access import may_look_after
from judging.models import Contestant, Tournament, Turn, Voter
from runs.responses.viewer import Columns
from runs.responses.viewer.columns import SPLIT

NAME = "judging: met"


@dataclass(frozen=True)
class Met:
    """Of tournaments in which the pinned column met others: who it is there, who the others are, by primary key.

    blind: tournaments in which the person who looks votes or still may; voters: who they are there.
    """

    tournaments: list[int]
    pinned: list[int]
    others: list[int]
    blind: list[int]
    voters: list[int]

    @property
    def open_to_them(self) -> Q:
        """Of comparisons: those whose verdicts the person may see."""
        own = Turn.objects.filter(voter__in=self.voters, ended_at__isnull=False)
        return ~Q(tournament__in=self.blind) | Q(pk__in=own.values("comparison"))


def met(columns: Columns) -> Met:
    """Of the columns, as far as the person who looks may see. Few queries the first time, none for the same columns."""
    if NAME not in columns.known:
        columns.known[NAME] = _met(columns) if columns.all else Met([], [], [], [], [])
    found: Met = columns.known[NAME]
    return found


def _met(columns: Columns) -> Met:
    stands = [Q(run=column.run, step=column.step) for column in columns.all]
    seen = Tournament.objects.visible_to(columns.person)
    found = Contestant.objects.filter(reduce(or_, stands), split=SPLIT, tournament__in=seen)
    rows = list(found.values_list("pk", "tournament", "run", "step"))
    pin = (columns.pinned.run.pk, columns.pinned.step)
    pinned = {tournament: pk for pk, tournament, *stand in rows if tuple(stand) == pin}
    others = [(pk, tournament) for pk, tournament, *stand in rows if tuple(stand) != pin and tournament in pinned]
    tournaments = sorted({tournament for _, tournament in others})
    taking = list(seen.filter(pk__in=tournaments, closed_at=None))
    voters = dict(Voter.objects.filter(user=columns.person.pk, tournament__in=taking).values_list("tournament", "pk"))
    blind = [one.pk for one in taking if one.pk in voters or not may_look_after(columns.person, one)]
    among = [pinned[tournament] for tournament in tournaments]
    return Met(tournaments, among, [pk for pk, _ in others], blind, list(voters.values()))
