"""Hands comparisons to voters, some ahead, so that a voter whose connection is lost goes on meanwhile.

So many people see a comparison as the tournament's `overlap` says. A turn that nobody took for an hour counts no more,
and the comparison goes to somebody else; whoever comes back to it later is still heard.

Who stands left is drawn for each voter, in the order in which the voter gets the comparisons of two contestants: no
choice of comparisons, gold between them or other voters' turns makes it uneven or easy to guess. Two voters in a row
get opposite sides, so that a comparison that both see in one order is seen both ways round.
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
from judging.voting.active_sampling import choose
from judging.voting.pairing import sides

AHEAD = 8
GIVEN_UP_AFTER = timedelta(hours=1)


def hand(voter: Voter, *, ahead: int = AHEAD, beside: Sequence[int] = ()) -> list[Turn]:
    """So many turns of the voter that have not ended, in their order: the old ones first, then new ones.

    `beside` are the ids of turns that the voter has already. Fewer, or none, where nothing is left to judge.
    """
    with transaction.atomic():
        # One at a time, so that two voters are not handed the last free place of a comparison both.
        tournament = Tournament.objects.select_for_update(no_key=True).get(pk=voter.tournament_id)
        if not tournament.is_open:
            return []
        old = list(_shown(_open(voter).exclude(pk__in=beside))[:ahead])
        new = _new(tournament, voter, ahead - len(old))
        return [*old, *_shown(Turn.objects.filter(pk__in=[turn.pk for turn in new]))]


def left(voter: Voter) -> int:
    """How many comparisons the voter may still judge, with all in hand: gold that did not count would be told by it."""
    return _free(voter).count() + _open(voter).count()


def _open(voter: Voter) -> QuerySet[Turn]:
    """Return turns in the voter's hands; of those that an earlier version handed out, not the identical answers."""
    return voter.turns.filter(ended_at=None, comparison__is_identical=False)


def _shown(turns: QuerySet[Turn]) -> QuerySet[Turn]:
    related = (
        "comparison__prompt__prompt",
        "comparison__response_a",
        "comparison__response_b",
        "comparison__gold_pair",
    )
    return turns.select_related(*related).order_by("n")


def _new(tournament: Tournament, voter: Voter, count: int) -> list[Turn]:
    newest = voter.turns.aggregate(n=Max("n"))["n"]
    first = 0 if newest is None else newest + 1
    plain = _plain(tournament, voter, count, first)
    gold = list(_gold(voter)[:count]) if tournament.gold_set_id else []
    handed: list[tuple[int, Comparison, float | None]] = []
    for n in range(first, first + count):
        if gold and _is_golds(tournament, voter, n):
            handed.append((n, gold.pop(0), None))
        elif plain:
            handed.append((n, *plain.pop(0)))
    now, first_sides = timezone.now(), _sides(tournament, voter, [one for _, one, _ in handed])
    return Turn.objects.bulk_create(
        Turn(voter=voter, comparison=one, n=n, handed_at=now, chance=chance, first=side)
        for (n, one, chance), side in zip(handed, first_sides, strict=True)
    )


def _sides(tournament: Tournament, voter: Voter, handed: Sequence[Comparison]) -> list[Side]:
    """Return who stands left in each of the voter's next turns; gold pairs have a sequence of their own."""
    seen: Counter[tuple[int | None, int | None]] = Counter(voter.turns.values_list("comparison__a", "comparison__b"))
    pairs = {(one.a_id, one.b_id) for one in handed}
    met = (
        Comparison.objects.filter(tournament=tournament, is_identical=False)
        .order_by()
        .values_list("a", "b", "a__place", "b__place")
    )
    sequences = {
        (a, b): sides(n, f"{tournament.seed} sides {voter.number // 2} {place_a} {place_b}")
        for a, b, place_a, place_b, n in (met.annotate(n=Count("pk")) if handed else ())
        if (a, b) in pairs
    }
    found = []
    for one in handed:
        pair = one.a_id, one.b_id
        a_is_left = sequences[pair][seen[pair]] == (voter.number % 2 == 0)
        seen[pair] += 1
        found.append(Side.A if a_is_left else Side.B)
    return found


def _is_golds(tournament: Tournament, voter: Voter, n: int) -> bool:
    """One turn in each `gold_every`, drawn for each voter: who knows how often gold comes shall not know when."""
    block, place = divmod(n, tournament.gold_every)
    draw = random.Random(f"{tournament.seed} gold {voter.number} {block}")
    return draw.randrange(tournament.gold_every) == place


def _plain(tournament: Tournament, voter: Voter, count: int, first: int) -> list[tuple[Comparison, float]]:
    """The next comparisons for the voter, each with the chance that it was chosen: in order there is but one."""
    if tournament.picks == Tournament.Picks.TELLING and count:
        return choose(voter, _free(voter), _held(voter), count, first)
    return [(one, 1.0) for one in _free(voter)[:count]]


def _held(voter: Voter) -> QuerySet[Turn]:
    """Turns of the voter's tournament, but for gold, that were judged or are in somebody's hands."""
    held = Q(ended_at__isnull=False) | Q(handed_at__gt=timezone.now() - GIVEN_UP_AFTER)
    there = Turn.objects.filter(
        comparison__tournament=voter.tournament_id, comparison__gold_pair=None, comparison__is_identical=False
    )
    return there.filter(held, is_passed=False)


def _free(voter: Voter) -> QuerySet[Comparison]:
    """Comparisons that the voter has not seen, and that need somebody yet."""
    there = Comparison.objects.to_judge().filter(tournament=voter.tournament_id)
    full = _by_enough(_held(voter))
    seen = voter.turns.values("comparison")
    return there.exclude(pk__in=seen).exclude(pk__in=full.values("comparison")).order_by("place")


def judged(tournaments: Collection[int]) -> Counter[int]:
    """tournament id -> how many of its pairs as many people have judged as are to."""
    done = Turn.objects.filter(
        comparison__tournament__in=tournaments, comparison__gold_pair=None, comparison__is_identical=False,
        ended_at__isnull=False, is_passed=False,
    )  # fmt: skip
    return Counter(_by_enough(done).values_list("comparison__tournament", flat=True))


def _by_enough(turns: QuerySet[Turn]) -> QuerySet[Turn, Any]:
    """A row a comparison of which there are as many of these turns as the tournament's overlap."""
    whose = turns.order_by().values("comparison", "comparison__tournament", "comparison__tournament__overlap")
    return whose.annotate(n=Count("pk")).filter(n__gte=F("comparison__tournament__overlap"))


def _gold(voter: Voter) -> QuerySet[Comparison]:
    there = Comparison.objects.filter(tournament=voter.tournament_id, gold_pair__isnull=False)
    return there.exclude(pk__in=voter.turns.values("comparison")).order_by("place")
