"""Sides of pairs: balanced for each voter, and in an order that passes a test of randomness (Wald and Wolfowitz)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise

import pytest
from django.contrib.auth.models import User

from judging.models import Comparison, Side, Turn, Voter
from judging.voting import draw_sides, make_pairings, turns
from runs.models import Experiment
from tests.cases import each_case
from tests.judging.tournament_factory import make_gold_set, make_tournament

SEEDS = 400
ONE_IN_A_HUNDRED = 2.576
"""The absolute value of a normal z that chance exceeds once in a hundred times."""
LENGTHS = [10, 57, 260, 1000]


def runs_z(seen: Sequence[bool]) -> float:
    """Return the z of the number of runs: above 0 if sides change more often than by chance."""
    n, left = len(seen), sum(seen)
    runs = 1 + sum(side != next_side for side, next_side in pairwise(seen))
    twice = 2 * left * (n - left)
    return (runs - 1 - twice / n) / math.sqrt(twice * (twice - n) / (n * n * (n - 1)))


def test_runs_test_refuses_sides_that_alternate() -> None:
    assert all(runs_z([k % 2 == 0 for k in range(n)]) > ONE_IN_A_HUNDRED for n in LENGTHS)


@each_case("prompts", LENGTHS)
def test_sides_of_two_contestants_pass_a_runs_test(prompts: int) -> None:
    # A hundred of the longest are enough: sides that alternate, or that stay, exceed the limit with every seed.
    seeds = range(SEEDS // 4 if prompts == max(LENGTHS) else SEEDS)
    scores = [runs_z([pairing.a_is_left for pairing in make_pairings([0, 1], range(prompts), n)]) for n in seeds]

    assert sum(abs(z) > ONE_IN_A_HUNDRED for z in scores) <= 0.025 * len(seeds)
    assert abs(sum(scores) / len(seeds)) < 0.75


@each_case("prompts", LENGTHS)
def test_sides_are_balanced_after_any_number_of_votes(prompts: int) -> None:
    for seed in range(50):
        lead, most = 0, 0
        for a_is_left in draw_sides(prompts, str(seed)):
            lead += 1 if a_is_left else -1
            most = max(most, abs(lead))
        assert abs(lead) <= 1
        assert most <= math.ceil(math.sqrt(prompts)) + 1


def test_side_does_not_predict_next_side() -> None:
    right = Counter[bool]()
    for seed in range(SEEDS):
        right.update(side != next_side for side, next_side in pairwise(draw_sides(50, str(seed))))

    assert 0.45 < right[True] / right.total() < 0.56


@pytest.mark.django_db
@pytest.mark.parametrize("picks", ["balanced", "telling"])
def test_sides_are_balanced_and_random_for_each_voter(
    picks: str, ada: User, bo: User, cy: User, experiment: Experiment
) -> None:
    tournament = make_tournament(
        ada,
        experiment,
        prompts=60,
        contestants=2,
        overlap=2,
        picks=picks,
        gold_set=make_gold_set(ada, 20),
        gold_every=4,
    )
    for number, person in enumerate((ada, bo, cy)):
        voter = Voter.objects.create(tournament=tournament, number=number, user=person)
        while batch := turns.hand_out_turns(voter, count=7):
            Turn.objects.filter(pk__in=[turn.pk for turn in batch]).update(ended_at=batch[0].handed_at)

    for voter in tournament.voters.filter(number__lt=2):
        own = voter.turns.order_by("n").select_related("comparison")
        for is_gold in (False, True):
            seen = [turn.left == Side.A for turn in own if turn.comparison.is_gold == is_gold]
            assert len(seen) == (20 if is_gold else 60)
            assert abs(2 * sum(seen) - len(seen)) <= 1
            assert abs(runs_z(seen)) < ONE_IN_A_HUNDRED


@pytest.mark.django_db
def test_sides_stay_balanced_for_voters_of_several_pairs(ada: User, bo: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment, prompts=40, contestants=3, seed=3)
    voters = [Voter.objects.create(tournament=tournament, number=k, user=user) for k, user in enumerate((ada, bo))]
    for _ in range(15):
        for voter in voters:
            batch = turns.hand_out_turns(voter, count=4)
            Turn.objects.filter(pk__in=[turn.pk for turn in batch]).update(ended_at=batch[0].handed_at)

    for voter in voters:
        lead: defaultdict[tuple[int | None, int | None], list[bool]] = defaultdict(list)
        seen = []
        for turn in voter.turns.order_by("n").select_related("comparison"):
            lead[turn.comparison.a_id, turn.comparison.b_id].append(turn.left == Side.A)
            seen.append(turn.left == Side.A)
        assert len(lead) == 3 and len(seen) == 60
        assert all(abs(2 * sum(is_left) - len(is_left)) <= 8 for is_left in lead.values())
        assert abs(runs_z(seen)) < ONE_IN_A_HUNDRED


@pytest.mark.django_db
def test_comparison_is_shown_in_both_orders_to_two_voters(ada: User, bo: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment, prompts=6, contestants=3, overlap=2)
    for number, person in enumerate((ada, bo)):
        turns.hand_out_turns(Voter.objects.create(tournament=tournament, number=number, user=person), count=18)

    for comparison in Comparison.objects.filter(tournament=tournament):
        assert {turn.left for turn in comparison.turns.all()} == {Side.A, Side.B}


@pytest.mark.django_db
def test_turn_of_an_earlier_version_keeps_its_sides(ada: User, bo: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment, prompts=1, contestants=2, overlap=2)
    for number, person in enumerate((ada, bo)):
        turns.hand_out_turns(Voter.objects.create(tournament=tournament, number=number, user=person))
    Turn.objects.update(first="")

    comparison = tournament.comparisons.get()
    first, second = comparison.turns.order_by("voter__number")

    assert first.left == comparison.first
    assert {first.left, second.left} == {Side.A, Side.B}
