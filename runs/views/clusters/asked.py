"""Who may ask about clusters: admins, since whoever changes one decides whose code runs there."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied

from runs.access import may_manage_clusters
from runs.views.parameters import SignedIn


def check_admin(request: SignedIn) -> None:
    """Raises PermissionDenied."""
    if not may_manage_clusters(request.user):
        raise PermissionDenied
