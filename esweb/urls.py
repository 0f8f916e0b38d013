"""All addresses: pages at the top, the API under /api/v1/, the admin, signing in and out, and the health check."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path
from django.utils.translation import gettext_noop as _
from django.views.decorators.cache import cache_control
from django.views.i18n import JavaScriptCatalog

from esweb.api import api
from esweb.api_docs import api_docs
from esweb.bootstrap.health import ADDRESS, health
from runs.accounts import sign_in_links
from runs.http import PalettePage, register_pages

# Pages for clients who are not signed in have scripts too.
js_catalog = login_not_required(cache_control(max_age=300, private=True)(JavaScriptCatalog.as_view()))
handler400 = "esweb.middleware.error_pages.bad_request"
handler403 = "esweb.middleware.error_pages.permission_denied"
handler404 = "esweb.middleware.error_pages.page_not_found"
handler500 = "esweb.middleware.error_pages.server_error"

admin.autodiscover()
register_pages(PalettePage("api-docs", _("API")))

urlpatterns = [
    path("", include("runs.urls")),
    path("", include("judging.urls")),
    path("", include("esweb.experiment_archives.urls")),
    path("api/v1/docs", api_docs, name="api-docs"),
    path("api/v1/", api.urls),
    path("admin/", admin.site.urls),
    path("login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path(sign_in_links.ADDRESS, sign_in_links.sign_in, name="sign-in"),
    path("words.js", js_catalog, name="script-words"),
    path(ADDRESS.removeprefix("/"), health, name="health"),
]
