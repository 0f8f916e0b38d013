"""Read what a request to launch says: configs that complete others, and the experiment that runs are made in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from runs.http import Caller, check_owner, the_experiment
from runs.models import Experiment


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with the values of `over`, object by object; a value that is no object replaces what it covers."""
    out = dict(base)
    for key, value in over.items():
        under = out.get(key)
        out[key] = merged(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return out


def place_of(caller: Caller, experiment: int | None, name: str | None) -> Experiment:
    """Return the caller's own experiment of this number, or else of this name. Raise Http404, HttpError."""
    if experiment is None:
        return _of_that_name(caller.person, name or "")
    found = the_experiment(caller, experiment)
    check_owner(caller, found)
    return found


def _of_that_name(person: User, name: str) -> Experiment:
    """Return the person's first experiment of that name; create it if there is none."""
    # Locked, so that two scripts that start together share one experiment.
    User.objects.select_for_update().get(pk=person.pk)
    mine = Experiment.objects.filter(owner=person, name=name).order_by("pk")
    return mine.first() or Experiment.objects.create(owner=person, name=name)
