"""Django's admin, for administrators: users, groups, and models that the apps register. It has no sign-in of its
own."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, URLResolver


class Site(AdminSite):
    """The admin site. It sends strangers to the site's own sign-in page, and refuses signed-in users who may not use
    it."""

    site_header = site_title = "esweb"
    # Every view decides who may see it: there is none that catches all other addresses.
    final_catch_all_view = False

    def get_urls(self) -> list[URLResolver | URLPattern]:
        """Return the usual patterns, but strangers are sent to the site's own sign-in."""
        patterns = super().get_urls()
        for pattern in patterns:
            if isinstance(pattern, URLPattern) and hasattr(pattern.callback, "login_url"):
                del pattern.callback.login_url
        return patterns

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Refuse: only signed-in users who may not use the admin are sent here."""
        raise PermissionDenied
