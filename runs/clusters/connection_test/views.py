"""The test of a cluster: begun by a button, told while it goes on."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from runs.clusters.connection_test.commands import report_steps, start_test
from runs.http import SignedIn, require_admin
from runs.models import Cluster, ClusterTest

TITLES = {
    "reach": gettext_lazy("Reach it"),
    "commands": gettext_lazy("Slurm's commands are there"),
    "folder": gettext_lazy("Its folder can be written to"),
    "submit": gettext_lazy("A job is submitted"),
    "ran": gettext_lazy("The job runs"),
    "records": gettext_lazy("Its records come back"),
    "environment": gettext_lazy("Python and torch work there"),
    "orphans": gettext_lazy("Jobs of our names that nobody waits for"),
}


@require_POST
def cluster_test(request: SignedIn, name: str) -> HttpResponse:
    """Begins one, or shows the one that goes on."""
    require_admin(request)
    start_test(get_object_or_404(Cluster, name=name), request.user)
    return redirect("settings-cluster", name=name)


@require_safe
def cluster_test_steps(request: SignedIn, name: str) -> HttpResponse:
    """How the newest stands, alone."""
    require_admin(request)
    cluster = get_object_or_404(Cluster, name=name)
    return TemplateResponse(request, "clusters/edit.html#steps", {"cluster": cluster, **test_context(cluster)})


def test_context(cluster: Cluster) -> dict[str, Any]:
    """The newest test, with a row a step."""
    test = ClusterTest.objects.filter(cluster=cluster).order_by("-pk").first()
    reports = report_steps(test) if test else []
    return {"test": test, "steps": [{"title": TITLES[report.name], "report": report} for report in reports]}
