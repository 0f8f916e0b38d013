"""What a person may do with tournaments and criteria that they can see. Who votes by a link is in `invitations`."""

from __future__ import annotations

from judging.models import Criterion, Tournament
from runs.access import Role, may_make, role_of
from runs.models.experiment import Person


def may_hold(person: Person) -> bool:
    """True where the person may make tournaments and criteria of their own."""
    return may_make(person)


def may_vote(person: Person) -> bool:
    """True where the person may vote in what they can see. A viewer changes nothing: they need an invitation."""
    return may_make(person)


def may_look_after(person: Person, tournament: Tournament) -> bool:
    """True where the person may pause, close, delete and invite to it: its owner, and admins."""
    return may_make(person) and (tournament.owner_id == person.pk or role_of(person) == Role.ADMIN)


def may_unblind(person: Person, tournament: Tournament) -> bool:
    """True where the person may know its seed and its gold, from which a voter could tell whose answers are whose:
    once it is closed, and whoever looks after it."""
    return tournament.closed_at is not None or may_look_after(person, tournament)


def may_reword(person: Person, criterion: Criterion) -> bool:
    """True where the person may give a criterion its next rubric: its owner, and admins for those of the site."""
    return may_make(person) and (criterion.owner_id == person.pk or role_of(person) == Role.ADMIN)
