"""Rights of users on tournaments and criteria that they can see. Voters with a link are handled in `invitations`."""

from __future__ import annotations

from judging.models import Criterion, Tournament
from runs.access import Role, may_make, role_of
from runs.models.experiment import Person


def may_create(person: Person) -> bool:
    """Return whether the user may create tournaments and criteria of their own."""
    return may_make(person)


def may_vote(person: Person) -> bool:
    """Return whether the user may vote in visible tournaments. A viewer changes nothing: they need an invitation."""
    return may_make(person)


def may_manage(person: Person, tournament: Tournament) -> bool:
    """Return whether the user may pause, close and delete the tournament, and invite to it: its owner and admins
    may."""
    return may_make(person) and (tournament.owner_id == person.pk or role_of(person) == Role.ADMIN)


def may_unblind(person: Person, tournament: Tournament) -> bool:
    """Return whether the user may know its seed and its gold, which would reveal the contestants to a voter: everybody
    once it is closed, and the users who manage it at any time."""
    return tournament.closed_at is not None or may_manage(person, tournament)


def may_change_rubric(person: Person, criterion: Criterion) -> bool:
    """Return whether the user may create a criterion's next rubric: its owner may, and admins for the site's
    criteria."""
    return may_make(person) and (criterion.owner_id == person.pk or role_of(person) == Role.ADMIN)
