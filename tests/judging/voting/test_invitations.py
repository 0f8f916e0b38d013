"""Links to vote: whom they let in, for how long, and who is who."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.utils import timezone

from judging.models import Invitation, Tournament, Voter
from judging.tournaments import commands
from judging.voting import CannotInvite, invite
from judging.voting.invitations import opened, remember, take_back, voter_of
from runs.models import Experiment
from tests.judging.tournament_factory import held

pytestmark = pytest.mark.django_db
NOBODY = AnonymousUser()


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    """Ada's, for everybody of the site."""
    return held(ada, experiment, prompts=1, contestants=2)


def test_the_text_of_a_link_is_kept_nowhere(tournament: Tournament, ada: User) -> None:
    ((made, text),) = invite(tournament, ada, ["Dee"])

    assert opened(text) == made
    assert opened(text[:-1]) is None
    assert text not in str(Invitation.objects.values())


@pytest.mark.parametrize(
    ("names", "days", "said"),
    [
        ([" "], 1, "Name 1 to 50 people, not 0"),
        (["Dee"], 0, "1 to 365 days, not 0"),
        (["Eve"], 1, "Already invited: Eve"),
    ],
)
def test_links_that_must_not_be_made_are_refused(
    tournament: Tournament, ada: User, names: list[str], days: int, said: str
) -> None:
    invite(tournament, ada, ["Eve"])

    with pytest.raises(CannotInvite, match=said):
        invite(tournament, ada, names, days)


def test_whoever_opened_a_link_is_the_same_voter_from_then_on(tournament: Tournament, ada: User) -> None:
    ((dee, _), (eve, _)) = invite(tournament, ada, ["Dee", "Eve"])
    sessions: list[dict[str, Any]] = [{}, {}]
    for session, who in zip(sessions, (dee, eve), strict=True):
        remember(session, who)

    first = [voter_of(NOBODY, session, tournament.pk) for session in sessions]
    again = [voter_of(NOBODY, session, tournament.pk) for session in sessions]

    assert first == again
    assert [(str(voter), voter and voter.number) for voter in first] == [("Dee", 0), ("Eve", 1)]
    assert voter_of(NOBODY, {}, tournament.pk) is None


def test_a_link_that_ended_lets_nobody_in_even_who_was_in(tournament: Tournament, ada: User) -> None:
    made = dict(zip("abc", invite(tournament, ada, ["a", "b", "c"]), strict=True))
    sessions: dict[str, dict[str, Any]] = {name: {} for name in made}
    for name, (who, _) in made.items():
        remember(sessions[name], who)
    take_back(made["a"][0])
    Invitation.objects.filter(name="b").update(expires_at=timezone.now() - timedelta(seconds=1))

    assert [voter_of(NOBODY, sessions[name], tournament.pk) is None for name in made] == [True, True, False]
    assert [opened(text) is None for _, text in made.values()] == [True, True, False]

    commands.delete(tournament, ada)
    assert voter_of(NOBODY, sessions["c"], tournament.pk) is None


def test_a_link_is_good_for_its_own_tournament_alone(
    tournament: Tournament, ada: User, private_experiment: Experiment
) -> None:
    other = held(ada, private_experiment, prompts=1, contestants=2)
    session: dict[str, Any] = {}
    remember(session, invite(tournament, ada, ["Dee"])[0][0])
    session["judging_invitations"][str(other.pk)] = session["judging_invitations"][str(tournament.pk)]

    assert voter_of(NOBODY, session, other.pk) is None


def test_who_is_of_the_site_votes_as_themselves_and_not_as_whom_a_link_was_for(
    tournament: Tournament, ada: User, bo: User
) -> None:
    session: dict[str, Any] = {}
    remember(session, invite(tournament, ada, ["Dee"])[0][0])

    assert str(voter_of(bo, session, tournament.pk)) == "bo"

    Tournament.objects.update(is_private=True)
    assert str(voter_of(bo, session, tournament.pk)) == "Dee"
    assert Voter.objects.count() == 2
