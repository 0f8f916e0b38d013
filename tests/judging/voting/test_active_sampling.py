"""Where votes are to tell most: who gets which pair, on which prompt, with which chance noted."""

from __future__ import annotations

from collections import Counter

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from judging.models import Comparison, Tournament, Turn, Voter
from judging.voting import Choice, choose, turns
from runs.models import Experiment
from tests.judging.tournament_factory import gold, held

pytestmark = pytest.mark.django_db


@pytest.fixture
def telling(ada: User, experiment: Experiment) -> Tournament:
    return held(ada, experiment, prompts=12, contestants=3, picks="telling")


def voter(tournament: Tournament, person: User) -> Voter:
    return Voter.objects.create(tournament=tournament, number=tournament.voters.count(), user=person)


def pairs(handed: list[Turn]) -> Counter[tuple[int | None, int | None]]:
    return Counter((turn.comparison.a_id, turn.comparison.b_id) for turn in handed)


def test_every_pair_is_handed_out_three_times_first_each_on_prompts_that_were_least_judged(
    telling: Tournament, ada: User
) -> None:
    handed = turns.hand(voter(telling, ada), ahead=9)
    assert sorted(pairs(handed).values()) == [3, 3, 3]
    assert len({turn.comparison.prompt_id for turn in handed}) == 9
    # The first of three pairs, on one of twelve prompts.
    assert handed[0].chance == pytest.approx(1 / 3 / 12)
    assert all(turn.chance is not None and 0 < turn.chance <= 1 for turn in handed)


def test_above_that_a_pair_of_which_much_is_known_is_left_to_chance(
    ada: User, bo: User, cy: User, experiment: Experiment
) -> None:
    made = held(ada, experiment, prompts=12, contestants=3, picks="telling", overlap=9)
    one, other, third = (voter(made, person) for person in (ada, bo, cy))
    for k, turn in enumerate(turns.hand(one, ahead=9)):
        for rubric in made.rubrics.all():
            choose(one, Choice(turn.pk, rubric.pk, ("left", "right", "tie")[k % 3], f"{turn.pk} {rubric.pk}"))
    first, second, _ = made.contestants.order_by("place")
    Turn.objects.bulk_create(
        Turn(voter=other, comparison=comparison, n=k, handed_at=timezone.now())
        for k, comparison in enumerate(Comparison.objects.filter(tournament=made, a=first, b=second))
    )
    handed = turns.hand(third, ahead=8)
    of_known = [
        turn.chance for turn in handed if turn.comparison.a_id == first.pk and turn.comparison.b_id == second.pk
    ]
    others = [turn.chance for turn in handed if turn.chance not in of_known]
    # One in ten is by chance, and a third of that falls on each pair, on whichever of its prompts.
    assert len(of_known) < 3 and all(chance <= 0.1 / 3 for chance in of_known if chance)
    assert all(chance > 0.9 / 12 for chance in others if chance)


def test_nobody_gets_one_twice_and_all_that_is_left_is_handed_out(telling: Tournament, ada: User, bo: User) -> None:
    one, other = voter(telling, ada), voter(telling, bo)
    taken = [turn.comparison_id for turn in turns.hand(one, ahead=20)]
    rest = [turn.comparison_id for turn in turns.hand(other, ahead=30)]
    assert len(set(taken + rest)) == 36 == Comparison.objects.filter(tournament=telling).count()
    assert turns.hand(other, ahead=40) and turns.left(one) == 20


def test_gold_and_balanced_order_have_no_choice_to_note(ada: User, experiment: Experiment) -> None:
    made = held(ada, experiment, prompts=4, gold_set=gold(ada), gold_every=3)
    handed = turns.hand(voter(made, ada), ahead=6)
    assert [turn.chance for turn in handed] == [None if turn.comparison.is_gold else 1.0 for turn in handed]
    assert [turn.comparison.place for turn in handed if turn.chance] == [0, 1, 2, 3]


def test_a_choice_that_was_passed_by_goes_to_somebody_else(telling: Tournament, ada: User, bo: User) -> None:
    one, other = voter(telling, ada), voter(telling, bo)
    turns.hand(one, ahead=36)
    Turn.objects.filter(n=0).update(is_passed=True, ended_at=timezone.now())
    (again,) = turns.hand(other, ahead=5)
    assert again.comparison_id == Turn.objects.get(voter=one, n=0).comparison_id
