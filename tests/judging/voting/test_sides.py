"""Sides of pairs: balanced for judges, and independent coins for voters, who could count which side is due."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from django.contrib.auth.models import User

from judging.models import Comparison, Side, Tournament, Turn, Voter
from judging.voting import draw_side, draw_sides, make_pairings, turns
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
def test_sides_for_judges_pass_a_runs_test(prompts: int) -> None:
    # A hundred of the longest are enough: sides that alternate, or that stay, exceed the limit with every seed.
    seeds = range(SEEDS // 4 if prompts == max(LENGTHS) else SEEDS)
    scores = [runs_z([pairing.a_is_left for pairing in make_pairings([0, 1], range(prompts), n)]) for n in seeds]

    assert sum(abs(z) > ONE_IN_A_HUNDRED for z in scores) <= 0.025 * len(seeds)
    assert abs(sum(scores) / len(seeds)) < 0.75


@each_case("prompts", LENGTHS)
def test_sides_for_judges_are_balanced_after_any_number_of_votes(prompts: int) -> None:
    for seed in range(50):
        lead, most = 0, 0
        for a_is_left in draw_sides(prompts, str(seed)):
            lead += 1 if a_is_left else -1
            most = max(most, abs(lead))
        assert abs(lead) <= 1
        assert most <= math.ceil(math.sqrt(prompts)) + 1


def guesses(sides: Sequence[bool]) -> list[bool]:
    """Return whether each guess of a voter is right who knows all earlier sides, and guesses the one that is due."""
    right, left = [], 0
    for n, is_left in enumerate(sides):
        due_left = 2 * left < n or (2 * left == n and n > 0 and not sides[n - 1])
        right.append(due_left == is_left)
        left += is_left
    return right


def share_of_guesses(sequences: Iterable[Sequence[bool]]) -> tuple[float, float]:
    """Return (the share of right guesses, the standard error of a share of blind guesses)."""
    right = [guess for sides in sequences for guess in guesses(sides)]
    return sum(right) / len(right), math.sqrt(0.25 / len(right))


def test_guesser_beats_balanced_sides() -> None:
    share, _ = share_of_guesses(draw_sides(12, str(seed)) for seed in range(SEEDS))

    assert share > 0.6


@each_case("meetings", [4, 12, 50, 260])
def test_voter_cannot_guess_next_side(meetings: int) -> None:
    share, error = share_of_guesses([draw_side(f"{n} side 0 {k}") for k in range(meetings)] for n in range(SEEDS))

    assert abs(share - 0.5) < 3.5 * error


def hand_out_all(tournament: Tournament, voter: Voter) -> list[Turn]:
    """Give the voter all turns, in batches, and return them in their order."""
    while batch := turns.hand_out_turns(voter, count=7):
        Turn.objects.filter(pk__in=[turn.pk for turn in batch]).update(ended_at=batch[0].handed_at)
    return list(voter.turns.order_by("n").select_related("comparison"))


@pytest.mark.django_db
@pytest.mark.parametrize("picks", ["balanced", "telling"])
def test_sides_of_turns_cannot_be_guessed_from_earlier_turns(
    picks: str, ada: User, bo: User, experiment: Experiment
) -> None:
    tournament = make_tournament(
        ada,
        experiment,
        prompts=60,
        contestants=3,
        overlap=2,
        picks=picks,
        gold_set=make_gold_set(ada, 20),
        gold_every=4,
    )
    sequences = []
    for number, person in enumerate((ada, bo)):
        own = hand_out_all(tournament, Voter.objects.create(tournament=tournament, number=number, user=person))
        assert abs(runs_z([turn.left == Side.A for turn in own])) < ONE_IN_A_HUNDRED
        by_pair = defaultdict[tuple[int | None, int | None], list[bool]](list)
        for turn in own:
            by_pair[turn.comparison.a_id, turn.comparison.b_id].append(turn.left == Side.A)
        sequences += by_pair.values()

    share, error = share_of_guesses(sequences)
    assert len(sequences) == 8
    assert abs(share - 0.5) < 3.5 * error


@pytest.mark.django_db
def test_two_voters_get_opposite_sides_in_any_order(ada: User, bo: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment, prompts=20, contestants=2, overlap=2, picks="telling", seed=3)
    sides = []
    for number, person in enumerate((ada, bo)):
        own = hand_out_all(tournament, Voter.objects.create(tournament=tournament, number=number, user=person))
        sides.append({turn.comparison_id: turn.left for turn in own})

    assert list(sides[0]) != list(sides[1])
    assert len(sides[0]) == 20
    assert all(sides[1][comparison] != side for comparison, side in sides[0].items())


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
