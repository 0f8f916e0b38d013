"""Views of the list of clusters and of the form of a cluster."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from runs.clusters.connection_test import test_context
from runs.clusters.forms import ClusterForm
from runs.clusters.gpu_use import report_gpus
from runs.clusters.inventory import inventory_of
from runs.http import SignedIn, page_of, require_admin
from runs.models import Cluster
from runs.models.job import OPEN

CLUSTERS_A_PAGE = 50


@require_safe
def clusters(request: SignedIn) -> HttpResponse:
    """Render the list of clusters, each with its number of open attempts."""
    require_admin(request)
    opened = Count("attempts", filter=Q(attempts__state__in=OPEN))
    page = page_of(request, Cluster.objects.annotate(opened=opened).order_by("name"), CLUSTERS_A_PAGE)
    return TemplateResponse(request, "clusters/list.html", {"tab": "clusters", "page": page})


@require_http_methods(["GET", "HEAD", "POST"])
def cluster_new(request: SignedIn) -> HttpResponse:
    """Render the form of a new cluster. A POST adds the cluster."""
    return _form(request, None)


@require_http_methods(["GET", "HEAD", "POST"])
def cluster_edit(request: SignedIn, name: str) -> HttpResponse:
    """Render the form of an existing cluster. A POST changes its config."""
    require_admin(request)
    return _form(request, get_object_or_404(Cluster, name=name))


def _form(request: SignedIn, cluster: Cluster | None) -> HttpResponse:
    require_admin(request)
    form = ClusterForm(request.POST if request.method == "POST" else None, cluster)
    if request.method == "POST" and (saved := form.save()) is not None:
        messages.success(request, gettext("Saved %(name)s.") % {"name": saved.name})
        return redirect("settings-cluster", name=saved.name)
    context: dict[str, Any] = {"tab": "clusters", "cluster": cluster, "form": form}
    if cluster:
        context |= {
            "inventory": inventory_of(cluster),
            "gpu_report": report_gpus(cluster, request.user),
            **test_context(cluster),
        }
    return TemplateResponse(request, "clusters/edit.html", context, status=400 if form.errors else 200)
