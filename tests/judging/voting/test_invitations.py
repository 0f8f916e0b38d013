"""Links to vote: whom they admit, for how long, and as which voter."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.utils import timezone

from judging.models import Invitation, Tournament, Voter
from judging.tournaments import commands
from judging.voting import InvitationRefused, create_invitations
from judging.voting.invitations import find_invitation, get_voter, revoke_invitation, store_in_session
from runs.models import Experiment
from tests.cases import each_case
from tests.judging.tournament_factory import make_tournament

pytestmark = pytest.mark.django_db
NOBODY = AnonymousUser()


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    """Return a tournament of Ada's for all users of the site."""
    return make_tournament(ada, experiment, prompts=1, contestants=2)


def test_invitation_text_is_not_stored(tournament: Tournament, ada: User) -> None:
    ((invitation, text),) = create_invitations(tournament, ada, ["Dee"])

    assert find_invitation(text) == invitation
    assert find_invitation(text[:-1]) is None
    assert text not in str(Invitation.objects.values())


@each_case(
    ("names", "days", "message"),
    [
        ([" "], 1, "Name 1 to 50 voters, not 0"),
        (["Dee"], 0, "1 to 365 days, not 0"),
        (["Eve"], 1, "Already invited: Eve"),
        (["Dee", "E" * 101], 1, "A name has at most 100 characters; E{20}… has 101"),
    ],
)
def test_invalid_invitations_are_refused(
    tournament: Tournament, ada: User, names: list[str], days: int, message: str
) -> None:
    create_invitations(tournament, ada, ["Eve"])

    with pytest.raises(InvitationRefused, match=message):
        create_invitations(tournament, ada, names, days)


def test_invited_voter_is_recognised_by_session(tournament: Tournament, ada: User) -> None:
    ((dee, _), (eve, _)) = create_invitations(tournament, ada, ["Dee", "Eve"])
    sessions: list[dict[str, Any]] = [{}, {}]
    for session, invitation in zip(sessions, (dee, eve), strict=True):
        store_in_session(session, invitation)

    first = [get_voter(NOBODY, session, tournament.pk) for session in sessions]
    again = [get_voter(NOBODY, session, tournament.pk) for session in sessions]

    assert first == again
    assert [(str(voter), voter and voter.number) for voter in first] == [("Dee", 0), ("Eve", 1)]
    assert get_voter(NOBODY, {}, tournament.pk) is None


def test_expired_invitation_ends_access(tournament: Tournament, ada: User) -> None:
    invitations = dict(zip("abc", create_invitations(tournament, ada, ["a", "b", "c"]), strict=True))
    sessions: dict[str, dict[str, Any]] = {name: {} for name in invitations}
    for name, (invitation, _) in invitations.items():
        store_in_session(sessions[name], invitation)
    revoke_invitation(invitations["a"][0])
    Invitation.objects.filter(name="b").update(expires_at=timezone.now() - timedelta(seconds=1))

    assert [get_voter(NOBODY, sessions[name], tournament.pk) is None for name in invitations] == [True, True, False]
    assert [find_invitation(text) is None for _, text in invitations.values()] == [True, True, False]

    commands.move_to_trash(tournament, ada)
    assert get_voter(NOBODY, sessions["c"], tournament.pk) is None


def test_invitation_is_valid_only_for_its_tournament(
    tournament: Tournament, ada: User, private_experiment: Experiment
) -> None:
    other = make_tournament(ada, private_experiment, prompts=1, contestants=2)
    session: dict[str, Any] = {}
    store_in_session(session, create_invitations(tournament, ada, ["Dee"])[0][0])
    session["judging_invitations"][str(other.pk)] = session["judging_invitations"][str(tournament.pk)]

    assert get_voter(NOBODY, session, other.pk) is None


def test_signed_in_user_votes_under_own_name(tournament: Tournament, ada: User, bo: User) -> None:
    session: dict[str, Any] = {}
    store_in_session(session, create_invitations(tournament, ada, ["Dee"])[0][0])

    assert str(get_voter(bo, session, tournament.pk)) == "bo"

    Tournament.objects.update(is_private=True)
    assert str(get_voter(bo, session, tournament.pk)) == "Dee"
    assert Voter.objects.count() == 2
