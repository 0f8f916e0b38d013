"""The next pair of a voter: enough voters for each, no pair twice for one voter, and some gold pairs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from judging.models import Tournament, Turn, Voter
from judging.tournaments import commands
from judging.voting import skip_turn, turns
from runs.models import Experiment
from tests.judging.tournament_factory import make_gold_set, make_tournament

pytestmark = pytest.mark.django_db


def voters(tournament: Tournament, *people: User) -> list[Voter]:
    """Create a voter for each user, numbered from 0."""
    return [Voter.objects.create(tournament=tournament, number=k, user=person) for k, person in enumerate(people)]


def numbers(turns: list[Turn]) -> list[int]:
    """Return the places of the comparisons of these turns."""
    return [turn.comparison.place for turn in turns]


def test_open_turns_are_given_again_first(ada: User, experiment: Experiment) -> None:
    (voter,) = voters(make_tournament(ada, experiment), ada)

    first = turns.hand_out_turns(voter, count=3)
    again = turns.hand_out_turns(voter, count=5)

    assert numbers(first) == [0, 1, 2]
    assert [turn.pk for turn in again[:3]] == [turn.pk for turn in first]
    assert numbers(again) == [0, 1, 2, 3, 4]
    assert numbers(turns.hand_out_turns(voter, count=2, already_open=[turn.pk for turn in again])) == [5, 6]


def test_pair_is_given_to_one_voter_without_overlap(ada: User, bo: User, experiment: Experiment) -> None:
    first, second = voters(make_tournament(ada, experiment, prompts=2, contestants=3), ada, bo)

    assert numbers(turns.hand_out_turns(first, count=4)) == [0, 1, 2, 3]
    assert numbers(turns.hand_out_turns(second, count=4)) == [4, 5]
    assert turns.count_remaining(second) == 2
    assert numbers(turns.hand_out_turns(second, count=9)) == [4, 5]


def test_overlap_of_two_gives_pair_to_two_voters(ada: User, bo: User, cy: User, experiment: Experiment) -> None:
    first, second, third = voters(make_tournament(ada, experiment, prompts=1, contestants=2, overlap=2), ada, bo, cy)

    assert [numbers(turns.hand_out_turns(voter)) for voter in (first, second, third)] == [[0], [0], []]


def test_skipped_or_expired_pair_goes_to_another_voter(ada: User, bo: User, experiment: Experiment) -> None:
    first, second = voters(make_tournament(ada, experiment, prompts=2, contestants=2), ada, bo)
    passed, unanswered = turns.hand_out_turns(first)
    skip_turn(first, passed.pk, "unsure", "k1")
    assert numbers(turns.hand_out_turns(second)) == [passed.comparison.place]

    Turn.objects.filter(pk=unanswered.pk).update(handed_at=timezone.now() - timedelta(hours=2))

    assert numbers(turns.hand_out_turns(second)) == [passed.comparison.place, unanswered.comparison.place]
    assert numbers(turns.hand_out_turns(first)) == [unanswered.comparison.place]


def test_one_pair_per_block_is_gold_at_random_position(ada: User, bo: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment, overlap=2, gold_set=make_gold_set(ada), gold_every=3)
    first, second = voters(tournament, ada, bo)

    is_gold = [[turn.comparison.is_gold for turn in turns.hand_out_turns(voter, count=9)] for voter in (first, second)]

    blocks = [tuple(flags[k : k + 3]) for flags in is_gold for k in (0, 3, 6)]
    assert all(sum(block) == 1 for block in blocks) and len(set(blocks)) > 1
    assert is_gold[0] != is_gold[1]


def test_number_left_does_not_reveal_gold(ada: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment, gold_set=make_gold_set(ada), gold_every=3)
    (voter,) = voters(tournament, ada)
    batch = turns.hand_out_turns(voter, count=6)
    before = turns.count_remaining(voter)

    for judged, turn in enumerate(batch, 1):
        Turn.objects.filter(pk=turn.pk).update(ended_at=timezone.now())
        assert turns.count_remaining(voter) == before - judged


def test_paused_tournament_gives_no_turns(ada: User, experiment: Experiment) -> None:
    tournament = make_tournament(ada, experiment)
    (voter,) = voters(tournament, ada)
    commands.pause(tournament)

    assert turns.hand_out_turns(voter) == []


def test_turns_query_count_is_constant(
    ada: User, experiment: Experiment, django_assert_max_num_queries: object
) -> None:
    (voter,) = voters(make_tournament(ada, experiment, prompts=8), ada)

    with django_assert_max_num_queries(10):  # type: ignore[operator]
        batch = turns.hand_out_turns(voter, count=20)
        assert all(turn.comparison.texts for turn in batch)

    assert len(batch) == 20
