"""Goes on with a run that ended early: a new attempt, from the newest checkpoint of those before it."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext

from runs.launching.budgets import PLACE, check_going_on
from runs.launching.create import new_attempt
from runs.models import Attempt, Origin, Run, Sweep
from workers.config import ConfigError
from workers.executors.states import State


class CannotResume(ValueError):
    """A run that there is nothing to do about. The message says why, and what can be done instead."""


def resume_refusal(run: Run) -> str:
    """Why the run cannot be resumed now; empty where it can."""
    if run.is_imported:
        said = gettext(
            "%(name)s was imported: it ran elsewhere, and nothing is here to go on from; clone it to train it here"
        )
    elif run.is_open:
        said = gettext("%(name)s has not ended: it is %(state)s")
    elif run.state == State.SUCCEEDED.value:
        said = gettext("%(name)s has reached its last step; clone it to train again, with another seed or config")
    else:
        return ""
    return said % {"name": run.name, "state": run.state}


def create_resume_attempt(run: Run, person: User | None = None) -> Attempt:
    """The attempt that goes on, to be submitted. Of two who ask at once, one makes it. Raises CannotResume, also where
    what is left of it is beyond a limit."""
    with transaction.atomic():
        now = Run.objects.select_for_update().get(pk=run.pk)
        if why := resume_refusal(now):
            raise CannotResume(why)
        try:
            check_going_on(now.created_by, now.experiment, Run.objects.filter(pk=now.pk))
            return new_attempt(run, f"resumed by {person.get_username()}" if person else "resumed", Origin.RESUME)
        except ConfigError as error:
            raise CannotResume(_in_words(error, run.name)) from error


def check_undo(sweep: Sweep, runs: QuerySet[Run]) -> None:
    """Raises CannotResume where these runs of a sweep, which its cancel has ended, are together beyond a limit."""
    try:
        check_going_on(sweep.created_by, sweep.experiment, runs)
    except ConfigError as error:
        raise CannotResume(_in_words(error, gettext("the sweep"))) from error


def _in_words(error: ConfigError, name: str) -> str:
    if all(problem.path == PLACE for problem in error.problems):
        return " ".join(problem.message for problem in error.problems).rstrip(".")
    said = gettext("the config of %(name)s no longer fits this version; clone it and put right: %(problems)s")
    return said % {"name": name, "problems": "; ".join(map(str, error.problems))}
