"""Concurrent votes from two tabs, devices or people: none is lost and none counts twice."""

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
from judging.voting import Choice, retract_choice, save_choice, turns
from judging.voting.invitations import get_voter
from runs.models import Experiment
from tests.judging.tournament_factory import make_tournament
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)
T = TypeVar("T")


def call_concurrently(*calls: Callable[[], T]) -> list[T]:
    """Return the results of calls that begin together, each on a connection of its own."""
    ready = Barrier(len(calls))

    def run_call(call: Callable[[], T]) -> T:
        try:
            ready.wait(PATIENCE_SECONDS)
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run_call, calls))


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    """Return a tournament of three contestants on four prompts, one voter per pair."""
    return make_tournament(ada, experiment)


def test_concurrent_choices_leave_one_current_verdict(tournament: Tournament, bo: User) -> None:
    voter = Voter.objects.create(tournament=tournament, number=0, user=bo)
    turn, by = turns.hand_out_turns(voter)[0], tournament.rubrics.order_by("pk")[0]

    def say(key: str, side: str) -> Callable[[], object]:
        return lambda: save_choice(Voter.objects.get(pk=voter.pk), Choice(turn.pk, by.pk, side, key))

    call_concurrently(*[say("k1", "tie")] * 4, say("k2", "both_bad"), say("k3", "left"))
    assert Verdict.objects.count() == 3
    assert Verdict.objects.current().count() == 1

    holds = Verdict.objects.current().get()
    call_concurrently(*[lambda: retract_choice(Voter.objects.get(pk=voter.pk), holds.key)] * 3)
    assert not Verdict.objects.current().exists()


def test_concurrent_voters_never_get_same_pair(tournament: Tournament, ada: User, bo: User, cy: User) -> None:
    voters = [Voter.objects.create(tournament=tournament, number=k, user=user) for k, user in enumerate((ada, bo, cy))]

    call_concurrently(*[lambda voter=voter: turns.hand_out_turns(voter, count=3) for voter in voters for _ in range(2)])

    counts = Counter(Turn.objects.values_list("comparison", flat=True))
    assert set(counts.values()) == {1}
    assert Counter(Turn.objects.values_list("voter", flat=True)) == {voter.pk: 3 for voter in voters}


def test_user_on_two_devices_is_one_voter(tournament: Tournament, bo: User) -> None:
    voters = call_concurrently(*[lambda: get_voter(bo, {}, tournament.pk)] * 4)

    assert len({voter.pk for voter in voters if voter}) == 1
    assert Voter.objects.count() == 1
