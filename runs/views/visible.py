"""Return the experiments and runs that a person may see, or answer 404.

Nobody is told that something exists that they may not see.
"""

from __future__ import annotations

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext

from runs.models import Experiment, Run
from runs.views.parameters import SignedIn, UnknownChoice

DIGITS_AT_MOST = 18
"""As many as a primary key can have."""


def visible_experiment(request: SignedIn, pk: int) -> Experiment:
    """The experiment, with its owner."""
    return get_object_or_404(Experiment.objects.visible_to(request.user).select_related("owner"), pk=pk)


def named_experiment(request: HttpRequest, number: str) -> Experiment | None:
    """Return the experiment that a parameter names; None if it is empty. Raise UnknownChoice."""
    if not number:
        return None
    is_number = number.isascii() and number.isdigit() and len(number) <= DIGITS_AT_MOST
    visible = Experiment.objects.visible_to(request.user)
    if not is_number or (experiment := visible.filter(pk=int(number)).first()) is None:
        message = gettext("experiment must be the number of an experiment that you may see, not %(value)r.")
        raise UnknownChoice(message % {"value": number[:100]})
    return experiment


def visible_run(request: SignedIn, uid: str) -> Run:
    """The run, with its experiment, who made it, and where it came from."""
    runs = Run.objects.visible_to(request.user).select_related("experiment", "created_by", "source", "sweep", "parent")
    return get_object_or_404(runs, uid=uid)
