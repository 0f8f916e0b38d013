"""Read a launch request: merge its config, and find the experiment in which its runs are created."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User

from runs.http import Caller, check_owner, get_experiment
from runs.models import Experiment
from workers.config import preset


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with the values of `over`, object by object; a value that is not an object replaces the other."""
    out = dict(base)
    for key, value in over.items():
        under = out.get(key)
        out[key] = merged(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return out


def over_preset(preset_name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the config that a request describes: its values over those of its preset. Raise ConfigError if there is no
    such preset; an empty name means none."""
    return merged(preset(preset_name).config if preset_name else {}, config)


def value_at(config: Mapping[str, Any], path: str) -> Any:
    """Return the value in a config at a dotted path; None if there is none. A number is a place in a list."""
    value: Any = config
    for key in path.split("."):
        if isinstance(value, list | tuple) and key.isdigit():
            value = value[int(key)] if int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, Mapping) else None
    return value


def get_own_experiment(caller: Caller, experiment: int | None, name: str | None) -> Experiment:
    """Return the caller's own experiment of this number, or else of this name. Raise Http404, HttpError."""
    if experiment is None:
        return get_or_create_experiment(caller.person, name or "")
    own = get_experiment(caller, experiment)
    check_owner(caller, own)
    return own


def get_or_create_experiment(person: User, name: str) -> Experiment:
    """Return the user's first experiment of that name that is not in the trash; create it if there is none."""
    experiments = Experiment.objects.filter(owner=person, name=name, deleted_at=None).order_by("pk")
    if (existing := experiments.first()) is not None:
        return existing
    # The user is locked, so that two scripts that start together share one experiment. Rows that refer to the user can
    # still be created meanwhile.
    User.objects.select_for_update(no_key=True).get(pk=person.pk)
    return experiments.first() or Experiment.objects.create(owner=person, name=name)
