"""Views of a cluster's test: start it, and display its steps while it runs."""

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
    "reach": gettext_lazy("Connect to the cluster"),
    "commands": gettext_lazy("Find Slurm's commands"),
    "nodes": gettext_lazy("Read its nodes"),
    "folder": gettext_lazy("Write to its folder"),
    "submit": gettext_lazy("Submit a job"),
    "ran": gettext_lazy("Run the job"),
    "records": gettext_lazy("Read its records back"),
    "environment": gettext_lazy("Check Python and torch"),
    "gpu": gettext_lazy("Train on a GPU"),
    "orphans": gettext_lazy("Look for orphaned jobs"),
}


@require_POST
def cluster_test(request: SignedIn, name: str) -> HttpResponse:
    """Begin a test, or display the one that is running."""
    require_admin(request)
    start_test(get_object_or_404(Cluster, name=name), request.user)
    return redirect("settings-cluster", name=name)


@require_safe
def cluster_test_steps(request: SignedIn, name: str) -> HttpResponse:
    """Render the steps of the newest test alone."""
    require_admin(request)
    cluster = get_object_or_404(Cluster, name=name)
    return TemplateResponse(request, "clusters/edit.html#steps", {"cluster": cluster, **test_context(cluster)})


def test_context(cluster: Cluster) -> dict[str, Any]:
    """Return the template context of the newest test, with one row per step."""
    test = ClusterTest.objects.filter(cluster=cluster).order_by("-pk").first()
    reports = report_steps(test) if test else []
    return {"test": test, "steps": [{"title": TITLES[report.name], "report": report} for report in reports]}
