"""Votes that come at the same moment, from two tabs, two devices or two people: none is lost and none counts twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

import pytest
from django.contrib.auth.models import User
from django.db import connection

from judging.models import Tournament, Turn, Verdict, Voter
from judging.voting import Choice, choose, take_back, turns
from judging.voting.invitations import voter_of
from runs.models import Experiment
from tests.judging.tournament_factory import held
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)
T = TypeVar("T")


def at_once(*calls: Callable[[], T]) -> list[T]:
    """What each gave, of calls that begin together, each on a connection of its own."""
    ready = Barrier(len(calls))

    def one(call: Callable[[], T]) -> T:
        try:
            ready.wait(PATIENCE_SECONDS)
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    """Three contestants on four prompts, a person a pair."""
    return held(ada, experiment)


def test_whatever_comes_at_once_the_newest_holds_and_all_is_history(tournament: Tournament, bo: User) -> None:
    voter = Voter.objects.create(tournament=tournament, number=0, user=bo)
    turn, by = turns.hand(voter)[0], tournament.rubrics.order_by("pk")[0]

    def say(key: str, said: str) -> Callable[[], object]:
        return lambda: choose(Voter.objects.get(pk=voter.pk), Choice(turn.pk, by.pk, said, key))

    at_once(*[say("k1", "tie")] * 4, say("k2", "both_bad"), say("k3", "left"))
    assert Verdict.objects.count() == 3
    assert Verdict.objects.current().count() == 1

    holds = Verdict.objects.current().get()
    at_once(*[lambda: take_back(Voter.objects.get(pk=voter.pk), holds.key)] * 3)
    assert not Verdict.objects.current().exists()


def test_people_who_ask_at_once_are_never_handed_the_same_pair(
    tournament: Tournament, ada: User, bo: User, cy: User
) -> None:
    voters = [Voter.objects.create(tournament=tournament, number=k, user=one) for k, one in enumerate((ada, bo, cy))]

    at_once(*[lambda voter=voter: turns.hand(voter, ahead=3) for voter in voters for _ in range(2)])

    handed = Counter(Turn.objects.values_list("comparison", flat=True))
    assert set(handed.values()) == {1}
    assert Counter(Turn.objects.values_list("voter", flat=True)) == {voter.pk: 3 for voter in voters}


def test_a_person_on_two_devices_is_one_voter(tournament: Tournament, bo: User) -> None:
    found = at_once(*[lambda: voter_of(bo, {}, tournament.pk)] * 4)

    assert len({voter.pk for voter in found if voter}) == 1
    assert Voter.objects.count() == 1
