"""Django's admin, for administrators: people, groups, and what the apps register. It has no sign-in of its own."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver


class Site(AdminSite):
    """Whoever is not signed in is sent to the site's own page for it; whoever is, and may not be here, is refused."""

    site_header = site_title = "esweb"
    # Every address says by itself who may see it: there is none that catches all others.
    final_catch_all_view = False

    def get_urls(self) -> list[URLResolver | URLPattern]:
        """The usual ones, but that strangers are sent to the site's own sign-in."""
        patterns = super().get_urls()
        for pattern in patterns:
            if isinstance(pattern, URLPattern) and hasattr(pattern.callback, "login_url"):
                del pattern.callback.login_url
        return patterns

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Asked for only by those who are signed in and may not be here."""
        raise PermissionDenied
