"""What a person may do with what they can see. A viewer may do none of it."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from runs.access.roles import Role, role_of
from runs.models import Experiment, Run
from runs.models.experiment import Person


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
