"""Which pair a voter gets next: each enough people, nobody the same twice, and some whose answer is known."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from judging.models import Tournament, Turn, Voter
from judging.tournaments import commands
from judging.voting import skip, turns
from runs.models import Experiment
from tests.judging.tournament_factory import gold, held

pytestmark = pytest.mark.django_db


def voters(tournament: Tournament, *people: User) -> list[Voter]:
    """A voter for each person, numbered from 0."""
    return [Voter.objects.create(tournament=tournament, number=k, user=person) for k, person in enumerate(people)]


def shown(handed: list[Turn]) -> list[int]:
    """The places of what was handed."""
    return [turn.comparison.place for turn in handed]


def test_turns_in_hand_come_first_and_stay_the_same(ada: User, experiment: Experiment) -> None:
    (voter,) = voters(held(ada, experiment), ada)

    first = turns.hand(voter, ahead=3)
    again = turns.hand(voter, ahead=5)

    assert shown(first) == [0, 1, 2]
    assert [turn.pk for turn in again[:3]] == [turn.pk for turn in first]
    assert shown(again) == [0, 1, 2, 3, 4]
    assert shown(turns.hand(voter, ahead=2, beside=[turn.pk for turn in again])) == [5, 6]


def test_no_two_people_get_a_pair_that_needs_one(ada: User, bo: User, experiment: Experiment) -> None:
    ours, theirs = voters(held(ada, experiment, prompts=2, contestants=3), ada, bo)

    assert shown(turns.hand(ours, ahead=4)) == [0, 1, 2, 3]
    assert shown(turns.hand(theirs, ahead=4)) == [4, 5]
    assert turns.left(theirs) == 2
    assert shown(turns.hand(theirs, ahead=9)) == [4, 5]


def test_with_an_overlap_of_two_both_get_it_and_a_third_does_not(
    ada: User, bo: User, cy: User, experiment: Experiment
) -> None:
    one, two, three = voters(held(ada, experiment, prompts=1, contestants=2, overlap=2), ada, bo, cy)

    assert [shown(turns.hand(voter)) for voter in (one, two, three)] == [[0], [0], []]


def test_a_pair_that_was_passed_by_or_left_lying_goes_to_somebody_else(
    ada: User, bo: User, experiment: Experiment
) -> None:
    one, two = voters(held(ada, experiment, prompts=2, contestants=2), ada, bo)
    passed, lying = turns.hand(one)
    skip(one, passed.pk, "unsure", "k1")
    assert shown(turns.hand(two)) == [passed.comparison.place]

    Turn.objects.filter(pk=lying.pk).update(handed_at=timezone.now() - timedelta(hours=2))

    assert shown(turns.hand(two)) == [passed.comparison.place, lying.comparison.place]
    assert shown(turns.hand(one)) == [lying.comparison.place]


def test_one_of_so_many_pairs_is_known_and_nobody_knows_which(ada: User, bo: User, experiment: Experiment) -> None:
    tournament = held(ada, experiment, overlap=2, gold_set=gold(ada), gold_every=3)
    one, other = voters(tournament, ada, bo)

    handed = [[turn.comparison.is_gold for turn in turns.hand(voter, ahead=9)] for voter in (one, other)]

    blocks = [tuple(of[k : k + 3]) for of in handed for k in (0, 3, 6)]
    assert all(sum(block) == 1 for block in blocks) and len(set(blocks)) > 1
    assert handed[0] != handed[1]


def test_how_many_are_left_does_not_tell_that_a_pair_was_gold(ada: User, experiment: Experiment) -> None:
    tournament = held(ada, experiment, gold_set=gold(ada), gold_every=3)
    (voter,) = voters(tournament, ada)
    handed = turns.hand(voter, ahead=6)
    before = turns.left(voter)

    for judged, turn in enumerate(handed, 1):
        Turn.objects.filter(pk=turn.pk).update(ended_at=timezone.now())
        assert turns.left(voter) == before - judged


def test_a_tournament_that_is_paused_or_closed_hands_out_nothing_new(ada: User, experiment: Experiment) -> None:
    tournament = held(ada, experiment)
    (voter,) = voters(tournament, ada)
    commands.pause(tournament)

    assert turns.hand(voter) == []


def test_handing_asks_the_database_as_often_for_many_as_for_few(
    ada: User, experiment: Experiment, django_assert_max_num_queries: object
) -> None:
    (voter,) = voters(held(ada, experiment, prompts=8), ada)

    with django_assert_max_num_queries(10):  # type: ignore[operator]
        handed = turns.hand(voter, ahead=20)
        assert all(turn.comparison.texts for turn in handed)

    assert len(handed) == 20
