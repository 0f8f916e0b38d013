"""First start: create an experiment for the first run, and open its launch form with a preset."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from runs.access import may_make
from runs.http import SignedIn
from runs.models import Experiment

FIRST_PRESET = "es-tiny"


@require_POST
def try_preset(request: SignedIn) -> HttpResponse:
    """Redirect to the launch form of the user's first experiment, filled from a preset; create the experiment if the
    user has none of this name. Raise PermissionDenied for users who may not create experiments."""
    if not may_make(request.user):
        raise PermissionDenied
    name = gettext("First runs")
    experiment = Experiment.objects.visible_to(request.user).current().filter(owner=request.user, name=name).first()
    if experiment is None:
        question = gettext("Does the model learn to answer more briefly?")
        experiment = Experiment.objects.create(owner=request.user, name=name, question=question)
    return redirect(f"{reverse('launch', args=[experiment.pk])}?preset={FIRST_PRESET}")
