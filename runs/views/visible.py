"""What this person may see, or 404: nobody is told that something exists that they may not see."""

from __future__ import annotations

from django.shortcuts import get_object_or_404

from runs.models import Experiment, Run
from runs.views.parameters import SignedIn


def visible_experiment(request: SignedIn, pk: int) -> Experiment:
    """The experiment, with its owner."""
    return get_object_or_404(Experiment.objects.visible_to(request.user).select_related("owner"), pk=pk)


def visible_run(request: SignedIn, uid: str) -> Run:
    """The run, with its experiment, who made it, and where it came from."""
    runs = Run.objects.visible_to(request.user).select_related("experiment", "created_by", "source", "sweep", "parent")
    return get_object_or_404(runs, uid=uid)
