"""Links by which somebody votes in one tournament, and sees nothing else of the site. And who votes.

Whoever opens a link is known from then on by a session of their own: it names the invitation, which is looked at anew
at every request, so that one that is taken back ends at once. They are nobody's user: every other page sends them to
sign in.
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

AT_MOST = 50
DAYS = 30
DAYS_AT_MOST = 365
SESSION = "judging_invitations"
USED_EVERY = timedelta(minutes=1)


class CannotInvite(ValueError):
    """Links that must not be made. The message says why."""


def invite(tournament: Tournament, by: User, names: list[str], days: int = DAYS) -> list[tuple[Invitation, str]]:
    """A link for each name, with its text, which is shown this once. Raises CannotInvite."""
    names = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not 1 <= len(names) <= AT_MOST:
        raise CannotInvite(gettext("Name 1 to %(most)s people, not %(n)s.") % {"most": AT_MOST, "n": len(names)})
    if not 1 <= days <= DAYS_AT_MOST:
        raise CannotInvite(
            gettext("A link is good for 1 to %(most)s days, not %(n)s.") % {"most": DAYS_AT_MOST, "n": days}
        )
    known = tournament.invitations.filter(name__in=names).values_list("name", flat=True)
    if known:
        raise CannotInvite(gettext("Already invited: %(names)s. Choose other names.") % {"names": ", ".join(known)})
    texts = [secrets.token_urlsafe(24) for _ in names]
    ends = timezone.now() + timedelta(days=days)
    made = Invitation.objects.bulk_create(
        Invitation(tournament=tournament, name=name, digest=digest(text), created_by=by, expires_at=ends)
        for name, text in zip(names, texts, strict=True)
    )
    return list(zip(made, texts, strict=True))


def opened(text: str) -> Invitation | None:
    """The invitation with this text, while it is good."""
    return Invitation.objects.good().filter(digest=digest(text)).select_related("tournament").first()


def take_back(invitation: Invitation) -> None:
    """Ends a link at once. What was voted by it stays."""
    Invitation.objects.filter(pk=invitation.pk, revoked_at=None).update(revoked_at=timezone.now())


def remember(session: MutableMapping[str, Any], invitation: Invitation) -> None:
    """Lets this browser vote by the invitation from now on."""
    session[SESSION] = {**session.get(SESSION, {}), str(invitation.tournament_id): invitation.pk}


def voter_of(person: Person, session: MutableMapping[str, Any], tournament_pk: int) -> Voter | None:
    """Who votes here: a member who may see the tournament, as themselves; else whoever was invited; else nobody.

    So nobody votes twice by opening a link that was meant for somebody else.
    """
    seen = Tournament.objects.visible_to(person).filter(pk=tournament_pk).first()
    if seen is not None and isinstance(person, User) and may_vote(person):
        return _voter(seen, user=person)
    invited = session.get(SESSION, {}).get(str(tournament_pk))
    good = Invitation.objects.good().filter(pk=invited, tournament=tournament_pk).select_related("tournament").first()
    if good is None:
        return None
    if good.last_used_at is None or good.last_used_at < timezone.now() - USED_EVERY:
        Invitation.objects.filter(pk=good.pk).update(last_used_at=timezone.now())
    return _voter(good.tournament, invitation=good)


def digest(text: str) -> str:
    """What is kept of a link."""
    return sha256(text.encode()).hexdigest()


def _voter(tournament: Tournament, **who: User | Invitation) -> Voter:
    known = tournament.voters.filter(**who).select_related("user", "invitation", "tournament").first()
    if known is not None:
        return known
    with transaction.atomic():
        Tournament.objects.select_for_update(no_key=True).get(pk=tournament.pk)
        newest = tournament.voters.aggregate(n=Max("number"))["n"]
        number = 0 if newest is None else newest + 1
        return tournament.voters.get_or_create(**who, defaults={"number": number})[0]
