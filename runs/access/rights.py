"""The role of a person (viewer, member or admin), and what they may do with what they can see. A viewer may do nothing.

An admin is Django's superuser; a viewer is in the group `viewers`; everybody else is a member. So whoever is made by
`createsuperuser`, or was there before there were roles, has one without any row that could be missing.
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
    """Keeps that the person did this to the thing; in English, as a log is."""
    LogEntry.objects.log_actions(person.pk, [thing], CHANGE, change_message=said, single_object=True)


class Role(models.TextChoices):
    """In rising order: a viewer reads, a member makes experiments of their own, an admin does everything."""

    VIEWER = "viewer", gettext_lazy("Viewer: reads what is not private")
    MEMBER = "member", gettext_lazy("Member: makes experiments and launches runs")
    ADMIN = "admin", gettext_lazy("Admin: sees and does everything, and looks after people")


class CannotChangeRole(ValueError):
    """A role that must stay as it is. The message says why."""


def role_of(person: Person) -> Role:
    """The person's role; that of a viewer for whoever is not signed in. At most one query a person."""
    if not isinstance(person, User):
        return Role.VIEWER
    if person.is_superuser:
        return Role.ADMIN
    # Kept with the person: a page asks many times what they may do.
    prefetch_related_objects([person], "groups")
    return Role.VIEWER if any(group.name == VIEWERS for group in person.groups.all()) else Role.MEMBER


def give_role(person: User, role: Role | str) -> None:
    """Makes the person a viewer, member or admin. Raises CannotChangeRole where no admin would be left."""
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
    """Raises CannotChangeRole where nobody else could look after the site. To be called in a transaction."""
    # Locked, so that of two admins who dismiss each other one stays.
    admins = User.objects.select_for_update().filter(is_superuser=True, is_active=True).order_by("pk")
    if [admin.pk for admin in admins] == [person.pk]:
        said = gettext("%(name)s is the last active admin: make somebody else one first")
        raise CannotChangeRole(said % {"name": person.get_username()})


def may_make(person: Person) -> bool:
    """True where the person may make experiments, saved views that others see, and tokens that change things."""
    return _is_active(person) and role_of(person) != Role.VIEWER


def may_change(person: Person, experiment: Experiment) -> bool:
    """True where the person may rename, archive or delete an experiment that they can see: its owner, and admins."""
    return _is_admin(person) or (experiment.owner_id == person.pk and may_make(person))


def may_launch(person: Person, experiment: Experiment) -> bool:
    """True where the person may add runs to an experiment that they can see: who may change it."""
    return may_change(person, experiment)


def may_change_run(person: Person, run: Run) -> bool:
    """True where the person may change a run that they can see: who made it, the experiment's owner, and admins."""
    return _is_admin(person) or (person.pk in (run.created_by_id, run.experiment.owner_id) and may_make(person))


def changeable(person: Person, runs: QuerySet[Run]) -> QuerySet[Run]:
    """Those of the runs that the person may change, as `may_change_run` says of each."""
    if _is_admin(person):
        return runs
    if not may_make(person):
        return runs.none()
    return runs.filter(Q(created_by_id=person.pk) | Q(experiment__owner_id=person.pk))


def may_cancel(person: Person, run: Run) -> bool:
    """True where the person may stop a run that they can see: who may change it."""
    return may_change_run(person, run)


def may_resume(person: Person, run: Run) -> bool:
    """True where the person may let a run go on that they can see: who may change it."""
    return may_change_run(person, run)


def may_rebuild(person: Person, run: Run) -> bool:
    """True where the person may have a run's checkpoints rebuilt, which takes a core: who may change it."""
    return may_change_run(person, run)


def may_manage_people(person: Person) -> bool:
    """True where the person may invite, change and shut out others: admins."""
    return _is_admin(person)


def may_manage_clusters(person: Person) -> bool:
    """True where the person may add, change and test clusters: admins."""
    return _is_admin(person)


def _is_admin(person: Person) -> bool:
    return _is_active(person) and role_of(person) == Role.ADMIN


def _is_active(person: Person) -> bool:
    return bool(person.is_authenticated and getattr(person, "is_active", False))
