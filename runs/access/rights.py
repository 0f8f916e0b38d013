"""Roles of users (viewer, member or admin), and what each may do with what they can see. A viewer only reads.

An admin is Django's superuser; a viewer is in the group `viewers`; everybody else is a member. So users created by
`createsuperuser`, or before roles existed, have a role without any row that could be missing.
"""

from __future__ import annotations

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group, User
from django.db import models, transaction
from django.db.models import Model, Q, QuerySet, prefetch_related_objects
from django.utils.translation import gettext, gettext_lazy

from runs.models import Experiment, Run
from runs.models.experiment import Person

VIEWERS = "viewers"


def note(person: User, thing: Model, said: str) -> None:
    """Log that the person did this to the thing. The text is in English, as in any log."""
    LogEntry.objects.log_actions(person.pk, [thing], CHANGE, change_message=said, single_object=True)


class Role(models.TextChoices):
    """Roles in rising order: a viewer reads, a member creates experiments of their own, an admin does everything."""

    VIEWER = "viewer", gettext_lazy("Viewer: reads what is not private")
    MEMBER = "member", gettext_lazy("Member: makes experiments and launches runs")
    ADMIN = "admin", gettext_lazy("Admin: sees and does everything, and looks after people")


class CannotChangeRole(ValueError):
    """A role that must stay as it is. The message says why."""


def role_of(person: Person) -> Role:
    """Return the person's role; viewer if they are not signed in. At most one query per person."""
    if not isinstance(person, User):
        return Role.VIEWER
    if person.is_superuser:
        return Role.ADMIN
    # Kept with the person: a page asks many times what they may do.
    prefetch_related_objects([person], "groups")
    return Role.VIEWER if any(group.name == VIEWERS for group in person.groups.all()) else Role.MEMBER


def give_role(person: User, role: Role | str) -> None:
    """Make the person a viewer, member or admin.

    Raise CannotChangeRole if the role is unknown or no admin would be left.
    """
    if role not in Role.values:
        said = gettext("The role must be one of %(roles)s, not %(role)r")
        raise CannotChangeRole(said % {"roles": ", ".join(Role.values), "role": role})
    with transaction.atomic():
        if role != Role.ADMIN:
            refuse_last_admin(person)
        person.is_superuser = person.is_staff = role == Role.ADMIN
        person.save(update_fields=["is_superuser", "is_staff"])
        viewers, _ = Group.objects.get_or_create(name=VIEWERS)
        (viewers.user_set.add if role == Role.VIEWER else viewers.user_set.remove)(person)
    getattr(person, "_prefetched_objects_cache", {}).pop("groups", None)


def refuse_last_admin(person: User) -> None:
    """Raise CannotChangeRole if the person is the last active admin. Call this in a transaction."""
    # Locked, so that of two admins who dismiss each other one stays.
    admins = User.objects.select_for_update().filter(is_superuser=True, is_active=True).order_by("pk")
    if [admin.pk for admin in admins] == [person.pk]:
        said = gettext("%(name)s is the last active admin: make somebody else one first")
        raise CannotChangeRole(said % {"name": person.get_username()})


def may_make(person: Person) -> bool:
    """Return whether the person may create experiments, shared saved views, and tokens that change things."""
    return _is_active(person) and role_of(person) != Role.VIEWER


def may_change(person: Person, experiment: Experiment) -> bool:
    """Return whether the person may rename, archive or delete an experiment that they can see: owner and admins may."""
    return _is_admin(person) or (experiment.owner_id == person.pk and may_make(person))


def may_launch(person: Person, experiment: Experiment) -> bool:
    """Return whether the person may add runs to an experiment that they can see: those who may change it may."""
    return may_change(person, experiment)


def may_change_run(person: Person, run: Run) -> bool:
    """Return whether the person may change a run that they can see: creator, experiment's owner and admins may."""
    return _is_admin(person) or (person.pk in (run.created_by_id, run.experiment.owner_id) and may_make(person))


def changeable(person: Person, runs: QuerySet[Run]) -> QuerySet[Run]:
    """Return the runs that the person may change, by the same rule as `may_change_run`."""
    if _is_admin(person):
        return runs
    if not may_make(person):
        return runs.none()
    return runs.filter(Q(created_by_id=person.pk) | Q(experiment__owner_id=person.pk))


def may_cancel(person: Person, run: Run) -> bool:
    """Return whether the person may stop a run that they can see: those who may change it may."""
    return may_change_run(person, run)


def may_resume(person: Person, run: Run) -> bool:
    """Return whether the person may resume a run that they can see: those who may change it may."""
    return may_change_run(person, run)


def may_rebuild(person: Person, run: Run) -> bool:
    """Return whether the person may rebuild a run's checkpoints, which takes a core: those who may change it may."""
    return may_change_run(person, run)


def may_manage_people(person: Person) -> bool:
    """Return whether the person may invite, change and deactivate users: admins may."""
    return _is_admin(person)


def may_manage_clusters(person: Person) -> bool:
    """Return whether the person may add, change and test clusters: admins may."""
    return _is_admin(person)


def _is_admin(person: Person) -> bool:
    return _is_active(person) and role_of(person) == Role.ADMIN


def _is_active(person: Person) -> bool:
    return bool(person.is_authenticated and getattr(person, "is_active", False))
