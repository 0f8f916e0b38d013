"""Active sampling: each voter's next pair and prompt by information, with the chance recorded."""

from __future__ import annotations

from collections import Counter

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from judging.models import Comparison, Tournament, Turn, Voter
from judging.voting import Choice, save_choice, turns
from runs.models import Experiment
from tests.judging.tournament_factory import make_gold_set, make_tournament

pytestmark = pytest.mark.django_db


@pytest.fixture
def telling(ada: User, experiment: Experiment) -> Tournament:
    return make_tournament(ada, experiment, prompts=12, contestants=3, picks="telling")


def voter(tournament: Tournament, person: User) -> Voter:
    return Voter.objects.create(tournament=tournament, number=tournament.voters.count(), user=person)


def pairs(turns_given: list[Turn]) -> Counter[tuple[int | None, int | None]]:
    return Counter((turn.comparison.a_id, turn.comparison.b_id) for turn in turns_given)


def test_active_sampling_gives_every_pair_three_times_first(telling: Tournament, ada: User) -> None:
    first_turns = turns.hand_out_turns(voter(telling, ada), count=9)
    assert sorted(pairs(first_turns).values()) == [3, 3, 3]
    assert len({turn.comparison.prompt_id for turn in first_turns}) == 9
    # The first of three pairs, on one of twelve prompts.
    assert first_turns[0].chance == pytest.approx(1 / 3 / 12)
    assert all(turn.chance is not None and 0 < turn.chance <= 1 for turn in first_turns)


def test_active_sampling_gives_well_known_pair_rarely(ada: User, bo: User, cy: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment, prompts=12, contestants=3, picks="telling", overlap=9)
    first_voter, second_voter, third_voter = (voter(tournament, person) for person in (ada, bo, cy))
    for k, turn in enumerate(turns.hand_out_turns(first_voter, count=9)):
        for rubric in tournament.rubrics.all():
            save_choice(
                first_voter, Choice(turn.pk, rubric.pk, ("left", "right", "tie")[k % 3], f"{turn.pk} {rubric.pk}")
            )
    first, second, _ = tournament.contestants.order_by("place")
    Turn.objects.bulk_create(
        Turn(voter=second_voter, comparison=comparison, n=k, handed_at=timezone.now())
        for k, comparison in enumerate(Comparison.objects.filter(tournament=tournament, a=first, b=second))
    )
    next_turns = turns.hand_out_turns(third_voter, count=8)
    of_known = [
        turn.chance for turn in next_turns if turn.comparison.a_id == first.pk and turn.comparison.b_id == second.pk
    ]
    others = [turn.chance for turn in next_turns if turn.chance not in of_known]
    # One in ten is by chance, and a third of that falls on each pair, on whichever of its prompts.
    assert len(of_known) < 3 and all(chance <= 0.1 / 3 for chance in of_known if chance)
    assert all(chance > 0.9 / 12 for chance in others if chance)


def test_active_sampling_gives_each_comparison_once(telling: Tournament, ada: User, bo: User) -> None:
    first, second = voter(telling, ada), voter(telling, bo)
    taken = [turn.comparison_id for turn in turns.hand_out_turns(first, count=20)]
    rest = [turn.comparison_id for turn in turns.hand_out_turns(second, count=30)]
    assert len(set(taken + rest)) == 36 == Comparison.objects.filter(tournament=telling).count()
    assert turns.hand_out_turns(second, count=40) and turns.count_remaining(first) == 20


def test_gold_turns_have_no_chance(ada: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment, prompts=4, gold_set=make_gold_set(ada), gold_every=3)
    next_turns = turns.hand_out_turns(voter(tournament, ada), count=6)
    assert [turn.chance for turn in next_turns] == [None if turn.comparison.is_gold else 1.0 for turn in next_turns]
    assert [turn.comparison.place for turn in next_turns if turn.chance] == [0, 1, 2, 3]


def test_skipped_comparison_goes_to_another_voter(telling: Tournament, ada: User, bo: User) -> None:
    first, second = voter(telling, ada), voter(telling, bo)
    turns.hand_out_turns(first, count=36)
    Turn.objects.filter(n=0).update(is_passed=True, ended_at=timezone.now())
    (again,) = turns.hand_out_turns(second, count=5)
    assert again.comparison_id == Turn.objects.get(voter=first, n=0).comparison_id
