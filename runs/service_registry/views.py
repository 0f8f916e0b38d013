"""View of the services that a user may use, with their addresses and last heartbeats."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from runs.http import SignedIn
from runs.models import Service

ROWS = 50


@require_safe
def services(request: SignedIn) -> HttpResponse:
    """Render the page, or its table alone for an htmx request."""
    registered = Service.objects.visible_to(request.user).select_related("owner").order_by("kind", "name", "owner_id")
    page = Paginator(registered, ROWS).get_page(request.GET.get("page"))
    context = {"page": page, "now": timezone.now()}
    part = "service_registry/services.html#table" if request.htmx else "service_registry/services.html"
    return TemplateResponse(request, part, context)
