"""Sides of pairs: balanced for each voter, and in an order that passes a test of randomness (Wald and Wolfowitz)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

import pytest
from django.contrib.auth.models import User

from judging.models import Comparison, Side, Turn, Voter
from judging.voting import pairings, sides, turns
from runs.models import Experiment
from tests.judging.tournament_factory import gold, held

SEEDS = 400
ONE_IN_A_HUNDRED = 2.576
"""The size of a normal z that chance exceeds so often, on either side."""
LENGTHS = [10, 57, 260, 1000]


def runs_z(seen: Sequence[bool]) -> float:
    """The z of the number of runs: above 0 where sides change more often than by chance."""
    n, left = len(seen), sum(seen)
    runs = 1 + sum(one != other for one, other in pairwise(seen))
    twice = 2 * left * (n - left)
    return (runs - 1 - twice / n) / math.sqrt(twice * (twice - n) / (n * n * (n - 1)))


def test_runs_test_refuses_sides_that_alternate() -> None:
    assert all(runs_z([k % 2 == 0 for k in range(n)]) > ONE_IN_A_HUNDRED for n in LENGTHS)


@pytest.mark.parametrize("prompts", LENGTHS)
def test_sides_of_two_contestants_pass_a_runs_test(prompts: int) -> None:
    found = [runs_z([one.a_is_left for one in pairings([0, 1], range(prompts), seed)]) for seed in range(SEEDS)]

    assert sum(abs(z) > ONE_IN_A_HUNDRED for z in found) <= 0.025 * SEEDS
    assert abs(sum(found) / SEEDS) < 0.75


@pytest.mark.parametrize("prompts", LENGTHS)
def test_sides_are_balanced_wherever_voting_ends(prompts: int) -> None:
    for seed in range(50):
        lead, most = 0, 0
        for a_is_left in sides(prompts, str(seed)):
            lead += 1 if a_is_left else -1
            most = max(most, abs(lead))
        assert abs(lead) <= 1
        assert most <= math.ceil(math.sqrt(prompts)) + 1


def test_side_tells_nothing_of_the_next_one() -> None:
    right = Counter[bool]()
    for seed in range(SEEDS):
        right.update(one != other for one, other in pairwise(sides(50, str(seed))))

    assert 0.45 < right[True] / right.total() < 0.56


@pytest.mark.django_db
@pytest.mark.parametrize("picks", ["balanced", "telling"])
def test_sides_are_balanced_and_random_for_each_voter(
    picks: str, ada: User, bo: User, cy: User, experiment: Experiment
) -> None:
    tournament = held(
        ada, experiment, prompts=60, contestants=2, overlap=2, picks=picks, gold_set=gold(ada, 20), gold_every=4
    )
    for number, person in enumerate((ada, bo, cy)):
        voter = Voter.objects.create(tournament=tournament, number=number, user=person)
        while handed := turns.hand(voter, ahead=7):
            Turn.objects.filter(pk__in=[turn.pk for turn in handed]).update(ended_at=handed[0].handed_at)

    for voter in tournament.voters.filter(number__lt=2):
        own = voter.turns.order_by("n").select_related("comparison")
        for is_gold in (False, True):
            seen = [turn.left == Side.A for turn in own if turn.comparison.is_gold == is_gold]
            assert len(seen) == (20 if is_gold else 60)
            assert abs(2 * sum(seen) - len(seen)) <= 1
            assert abs(runs_z(seen)) < ONE_IN_A_HUNDRED


@pytest.mark.django_db
def test_sides_stay_balanced_for_voters_who_share_a_tournament_of_several_pairs(
    ada: User, bo: User, experiment: Experiment
) -> None:
    tournament = held(ada, experiment, prompts=40, contestants=3, seed=3)
    voters = [Voter.objects.create(tournament=tournament, number=k, user=one) for k, one in enumerate((ada, bo))]
    for _ in range(15):
        for voter in voters:
            handed = turns.hand(voter, ahead=4)
            Turn.objects.filter(pk__in=[turn.pk for turn in handed]).update(ended_at=handed[0].handed_at)

    for voter in voters:
        lead: defaultdict[tuple[int | None, int | None], list[bool]] = defaultdict(list)
        seen = []
        for turn in voter.turns.order_by("n").select_related("comparison"):
            lead[turn.comparison.a_id, turn.comparison.b_id].append(turn.left == Side.A)
            seen.append(turn.left == Side.A)
        assert len(lead) == 3 and len(seen) == 60
        assert all(abs(2 * sum(of) - len(of)) <= 8 for of in lead.values())
        assert abs(runs_z(seen)) < ONE_IN_A_HUNDRED


@pytest.mark.django_db
def test_comparison_is_seen_both_ways_round_by_two_voters_in_a_row(ada: User, bo: User, experiment: Experiment) -> None:
    tournament = held(ada, experiment, prompts=6, contestants=3, overlap=2)
    for number, person in enumerate((ada, bo)):
        turns.hand(Voter.objects.create(tournament=tournament, number=number, user=person), ahead=18)

    for comparison in Comparison.objects.filter(tournament=tournament):
        assert {turn.left for turn in comparison.turns.all()} == {Side.A, Side.B}


@pytest.mark.django_db
def test_turn_of_an_earlier_version_keeps_its_sides(ada: User, bo: User, experiment: Experiment) -> None:
    tournament = held(ada, experiment, prompts=1, contestants=2, overlap=2)
    for number, person in enumerate((ada, bo)):
        turns.hand(Voter.objects.create(tournament=tournament, number=number, user=person))
    Turn.objects.update(first="")

    comparison = tournament.comparisons.get()
    first, second = comparison.turns.order_by("voter__number")

    assert first.left == comparison.first
    assert {first.left, second.left} == {Side.A, Side.B}
