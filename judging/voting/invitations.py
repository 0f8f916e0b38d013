"""Invitation links for voting in one tournament, and the voter of a request.

Opening a link stores the invitation in the browser's session. Each request checks the invitation again, so revoking it
takes effect immediately. Invited voters have no user account and see nothing else of the site: every other page sends
them to sign in.
"""

from __future__ import annotations

import secrets
from collections.abc import MutableMapping
from datetime import timedelta
from hashlib import sha256
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext

from judging.access import may_vote
from judging.models import Invitation, Tournament, Voter
from runs.models.experiment import Person

MAX_INVITATIONS = 50
MAX_NAME_LENGTH = 100
DAYS = 30
MAX_DAYS = 365
SESSION = "judging_invitations"
LAST_USED_INTERVAL = timedelta(minutes=1)


class InvitationRefused(ValueError):
    """Error: the links must not be created. The message gives the reason."""


def create_invitations(
    tournament: Tournament, by: User, names: list[str], days: int = DAYS
) -> list[tuple[Invitation, str]]:
    """Create an invitation for each name, and return each with its link text, which is shown only now.

    Raise InvitationRefused if a name is already invited, or if there are too many names or days.
    """
    names = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not 1 <= len(names) <= MAX_INVITATIONS:
        raise InvitationRefused(
            gettext("Name 1 to %(most)s voters, not %(n)s.") % {"most": MAX_INVITATIONS, "n": len(names)}
        )
    if long := next((name for name in names if len(name) > MAX_NAME_LENGTH), ""):
        params = {"most": MAX_NAME_LENGTH, "name": long[:20], "n": len(long)}
        raise InvitationRefused(gettext("A name has at most %(most)s characters; %(name)s… has %(n)s.") % params)
    if not 1 <= days <= MAX_DAYS:
        raise InvitationRefused(
            gettext("A link must be valid for 1 to %(most)s days, not %(n)s.") % {"most": MAX_DAYS, "n": days}
        )
    existing = tournament.invitations.filter(name__in=names).values_list("name", flat=True)
    if existing:
        raise InvitationRefused(
            gettext("Already invited: %(names)s. Choose other names.") % {"names": ", ".join(existing)}
        )
    texts = [secrets.token_urlsafe(24) for _ in names]
    expires_at = timezone.now() + timedelta(days=days)
    created = Invitation.objects.bulk_create(
        Invitation(tournament=tournament, name=name, digest=link_digest(text), created_by=by, expires_at=expires_at)
        for name, text in zip(names, texts, strict=True)
    )
    return list(zip(created, texts, strict=True))


def find_invitation(text: str) -> Invitation | None:
    """Return the invitation with this text, or None if there is no valid one."""
    return Invitation.objects.usable().filter(digest=link_digest(text)).select_related("tournament").first()


def revoke_invitation(invitation: Invitation) -> None:
    """Revoke a link immediately. Its votes stay."""
    Invitation.objects.filter(pk=invitation.pk, revoked_at=None).update(revoked_at=timezone.now())


def store_in_session(session: MutableMapping[str, Any], invitation: Invitation) -> None:
    """Store the invitation in the session, so that this browser can vote by it."""
    session[SESSION] = {**session.get(SESSION, {}), str(invitation.tournament_id): invitation.pk}


def get_voter(person: Person, session: MutableMapping[str, Any], tournament_pk: int) -> Voter | None:
    """Return the voter of the request, or None: a member who may see the tournament, else the invited voter.

    So a member cannot vote twice by opening a link that was meant for somebody else.
    """
    visible = Tournament.objects.visible_to(person).filter(pk=tournament_pk).first()
    if visible is not None and isinstance(person, User) and may_vote(person):
        return _voter(visible, user=person)
    invited = session.get(SESSION, {}).get(str(tournament_pk))
    invitation = (
        Invitation.objects.usable().filter(pk=invited, tournament=tournament_pk).select_related("tournament").first()
    )
    if invitation is None:
        return None
    if invitation.last_used_at is None or invitation.last_used_at < timezone.now() - LAST_USED_INTERVAL:
        Invitation.objects.filter(pk=invitation.pk).update(last_used_at=timezone.now())
    return _voter(invitation.tournament, invitation=invitation)


def link_digest(text: str) -> str:
    """Return the digest of a link's text, which is stored in place of it."""
    return sha256(text.encode()).hexdigest()


def _voter(tournament: Tournament, **identity: User | Invitation) -> Voter:
    existing = tournament.voters.filter(**identity).select_related("user", "invitation", "tournament").first()
    if existing is not None:
        return existing
    with transaction.atomic():
        Tournament.objects.select_for_update(no_key=True).get(pk=tournament.pk)
        newest = tournament.voters.aggregate(n=Max("number"))["n"]
        number = 0 if newest is None else newest + 1
        return tournament.voters.get_or_create(**identity, defaults={"number": number})[0]
