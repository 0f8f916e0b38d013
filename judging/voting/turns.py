"""Hand out comparisons to voters, some in advance, so that a voter can continue without a connection.

The tournament's `overlap` is the number of voters who see a comparison. A turn without a vote for an hour no longer
counts, and the comparison goes to another voter; a later vote on that turn is still accepted.

The side of each comparison is an independent coin for every two voters: a voter who sees whom each vote was for cannot
guess the next side. Two consecutive voters get opposite sides of each comparison, whatever the order in which they get
the comparisons, so that one that both see is judged both ways round.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Max, Q, QuerySet
from django.utils import timezone

from judging.models import Comparison, Side, Tournament, Turn, Voter
from judging.voting.active_sampling import select_comparisons
from judging.voting.pairing import draw_side

TURNS_AHEAD = 8
ABANDONED_AFTER = timedelta(hours=1)


def hand_out_turns(voter: Voter, *, count: int = TURNS_AHEAD, already_open: Sequence[int] = ()) -> list[Turn]:
    """Return `count` open turns of the voter in their order: existing ones first, then new ones.

    `already_open`: ids of turns that the voter already has. Return fewer, or none, if nothing is left to judge.
    """
    with transaction.atomic():
        # The lock prevents two voters from both getting the last free turn of a comparison.
        tournament = Tournament.objects.select_for_update(no_key=True).get(pk=voter.tournament_id)
        if not tournament.is_open:
            return []
        old = list(_with_texts(_open_turns(voter).exclude(pk__in=already_open))[:count])
        new = _create_turns(tournament, voter, count - len(old))
        return [*old, *_with_texts(Turn.objects.filter(pk__in=[turn.pk for turn in new]))]


def count_remaining(voter: Voter) -> int:
    """Return how many comparisons the voter may still judge, with all open turns.

    Open gold turns are included, because a number without them would reveal gold.
    """
    return _available_comparisons(voter).count() + _open_turns(voter).count()


def _open_turns(voter: Voter) -> QuerySet[Turn]:
    """Return the voter's open turns, without pairs of identical responses, which an earlier version handed out."""
    return voter.turns.filter(ended_at=None, comparison__is_identical=False)


def _with_texts(turns: QuerySet[Turn]) -> QuerySet[Turn]:
    related = (
        "comparison__prompt__prompt",
        "comparison__response_a",
        "comparison__response_b",
        "comparison__gold_pair",
    )
    return turns.select_related(*related).order_by("n")


def _create_turns(tournament: Tournament, voter: Voter, count: int) -> list[Turn]:
    newest = voter.turns.aggregate(n=Max("n"))["n"]
    first = 0 if newest is None else newest + 1
    plain = _next_comparisons(tournament, voter, count, first)
    gold = list(_gold_comparisons(voter)[:count]) if tournament.gold_set_id else []
    assignments: list[tuple[int, Comparison, float | None]] = []
    for n in range(first, first + count):
        if gold and _is_gold_turn(tournament, voter, n):
            assignments.append((n, gold.pop(0), None))
        elif plain:
            assignments.append((n, *plain.pop(0)))
    now = timezone.now()
    return Turn.objects.bulk_create(
        Turn(
            voter=voter, comparison=comparison, n=n, handed_at=now, chance=chance,
            first=_side(tournament, voter, comparison),
        )
        for n, comparison, chance in assignments
    )  # fmt: skip


def _side(tournament: Tournament, voter: Voter, comparison: Comparison) -> Side:
    """Return the side on the left in the voter's turn on a comparison."""
    a_is_left = draw_side(f"{tournament.seed} side {voter.number // 2} {comparison.place}")
    return Side.A if a_is_left == (voter.number % 2 == 0) else Side.B


def _is_gold_turn(tournament: Tournament, voter: Voter, n: int) -> bool:
    """Return whether the turn is gold: one turn in each `gold_every`, sampled for each voter.

    A voter who knows how often gold comes must not know when.
    """
    block, gold_position = divmod(n, tournament.gold_every)
    draw = random.Random(f"{tournament.seed} gold {voter.number} {block}")
    return draw.randrange(tournament.gold_every) == gold_position


def _next_comparisons(tournament: Tournament, voter: Voter, count: int, first: int) -> list[tuple[Comparison, float]]:
    """Return the voter's next comparisons, each with the probability of its choice, which is 1 without sampling."""
    if tournament.picks == Tournament.Picks.TELLING and count:
        return select_comparisons(voter, _available_comparisons(voter), _counted_turns(voter), count, first)
    return [(comparison, 1.0) for comparison in _available_comparisons(voter)[:count]]


def _counted_turns(voter: Voter) -> QuerySet[Turn]:
    """Return turns of the voter's tournament, except gold, that were judged or are with a voter."""
    is_counted = Q(ended_at__isnull=False) | Q(handed_at__gt=timezone.now() - ABANDONED_AFTER)
    there = Turn.objects.filter(
        comparison__tournament=voter.tournament_id, comparison__gold_pair=None, comparison__is_identical=False
    )
    return there.filter(is_counted, is_passed=False)


def _available_comparisons(voter: Voter) -> QuerySet[Comparison]:
    """Return comparisons that the voter has not seen and that need more voters."""
    comparisons = Comparison.objects.to_judge().filter(tournament=voter.tournament_id)
    fully_judged = _fully_judged(_counted_turns(voter))
    seen = voter.turns.values("comparison")
    return comparisons.exclude(pk__in=seen).exclude(pk__in=fully_judged.values("comparison")).order_by("place")


def count_judged_pairs(tournaments: Collection[int]) -> Counter[int]:
    """Map each tournament's id to the number of its pairs that enough voters have judged."""
    finished = Turn.objects.filter(
        comparison__tournament__in=tournaments, comparison__gold_pair=None, comparison__is_identical=False,
        ended_at__isnull=False, is_passed=False,
    )  # fmt: skip
    return Counter(_fully_judged(finished).values_list("comparison__tournament", flat=True))


def _fully_judged(turns: QuerySet[Turn]) -> QuerySet[Turn, Any]:
    """Return one row per comparison that has at least as many of these turns as the tournament's overlap."""
    by_comparison = turns.order_by().values("comparison", "comparison__tournament", "comparison__tournament__overlap")
    return by_comparison.annotate(n=Count("pk")).filter(n__gte=F("comparison__tournament__overlap"))


def _gold_comparisons(voter: Voter) -> QuerySet[Comparison]:
    gold = Comparison.objects.filter(tournament=voter.tournament_id, gold_pair__isnull=False)
    return gold.exclude(pk__in=voter.turns.values("comparison")).order_by("place")
