"""Roles of users (viewer, member or admin), and what each role may do with visible rows. A viewer only reads.

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


def note(person: User, target: Model, message: str) -> None:
    """Log that the user changed the target. The text is in English, as in any log."""
    LogEntry.objects.log_actions(person.pk, [target], CHANGE, change_message=message, single_object=True)


class Role(models.TextChoices):
    """Roles in rising order: a viewer reads, a member creates experiments of their own, an admin does everything."""

    VIEWER = "viewer", gettext_lazy("Viewer: reads what is not private")
    MEMBER = "member", gettext_lazy("Member: creates experiments and launches runs")
    ADMIN = "admin", gettext_lazy("Admin: sees and does everything, and manages users")


class CannotChangeRole(ValueError):
    """Error for a role that must not change. The message gives the reason."""


def role_of(person: Person) -> Role:
    """Return the user's role; viewer if they are not signed in. Takes at most one query per user."""
    if not isinstance(person, User):
        return Role.VIEWER
    if person.is_superuser:
        return Role.ADMIN
    # Cached on the user: one page checks permissions many times.
    prefetch_related_objects([person], "groups")
    return Role.VIEWER if any(group.name == VIEWERS for group in person.groups.all()) else Role.MEMBER


def give_role(person: User, role: Role | str) -> None:
    """Make the user a viewer, member or admin.

    Raise CannotChangeRole if the role is unknown or no admin would be left.
    """
    if role not in Role.values:
        message = gettext("The role must be one of %(roles)s, not %(role)r")
        raise CannotChangeRole(message % {"roles": ", ".join(Role.values), "role": role})
    with transaction.atomic():
        if role != Role.ADMIN:
            refuse_last_admin(person)
        person.is_superuser = person.is_staff = role == Role.ADMIN
        person.save(update_fields=["is_superuser", "is_staff"])
        viewers, _ = Group.objects.get_or_create(name=VIEWERS)
        (viewers.user_set.add if role == Role.VIEWER else viewers.user_set.remove)(person)
    getattr(person, "_prefetched_objects_cache", {}).pop("groups", None)


def refuse_last_admin(person: User) -> None:
    """Raise CannotChangeRole if the user is the last active admin. Call this in a transaction."""
    # Locked, so that two admins who demote each other at the same time cannot both succeed.
    admins = User.objects.select_for_update().filter(is_superuser=True, is_active=True).order_by("pk")
    if [admin.pk for admin in admins] == [person.pk]:
        message = gettext("%(name)s is the last active admin: give another user this role first")
        raise CannotChangeRole(message % {"name": person.get_username()})


def may_make(person: Person) -> bool:
    """Return whether the user may create experiments, shared saved views, and tokens that change things."""
    return _is_active(person) and role_of(person) != Role.VIEWER


def may_change(person: Person, experiment: Experiment) -> bool:
    """Return whether the user may rename, archive or delete a visible experiment: its owner and admins may."""
    return _is_admin(person) or (experiment.owner_id == person.pk and may_make(person))


def may_launch(person: Person, experiment: Experiment) -> bool:
    """Return whether the user may add runs to a visible experiment: the users who may change it may."""
    return may_change(person, experiment)


def may_change_run(person: Person, run: Run) -> bool:
    """Return whether the user may change a visible run: its creator, the experiment's owner and admins may."""
    return _is_admin(person) or (person.pk in (run.created_by_id, run.experiment.owner_id) and may_make(person))


def changeable(person: Person, runs: QuerySet[Run]) -> QuerySet[Run]:
    """Return the runs that the user may change, by the same rule as `may_change_run`."""
    if _is_admin(person):
        return runs
    if not may_make(person):
        return runs.none()
    return runs.filter(Q(created_by_id=person.pk) | Q(experiment__owner_id=person.pk))


def may_cancel(person: Person, run: Run) -> bool:
    """Return whether the user may stop a visible run: the users who may change it may."""
    return may_change_run(person, run)


def may_resume(person: Person, run: Run) -> bool:
    """Return whether the user may resume a visible run: the users who may change it may."""
    return may_change_run(person, run)


def may_rebuild(person: Person, run: Run) -> bool:
    """Return whether the user may rebuild a run's checkpoints, which takes a core: the users who may change it may."""
    return may_change_run(person, run)


def may_manage_users(person: Person) -> bool:
    """Return whether the user may invite, change and deactivate users: admins may."""
    return _is_admin(person)


def may_manage_clusters(person: Person) -> bool:
    """Return whether the user may add, change and test clusters: admins may."""
    return _is_admin(person)


def _is_admin(person: Person) -> bool:
    return _is_active(person) and role_of(person) == Role.ADMIN


def _is_active(person: Person) -> bool:
    return bool(person.is_authenticated and getattr(person, "is_active", False))
