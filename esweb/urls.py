"""Every address: pages at the top, the API under /api/v1/, the admin, signing in and out, and a word on health."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

from esweb.api import api
from esweb.api_docs import api_docs
from esweb.health import ADDRESS, health
from esweb.script_words import script_words
from esweb.sign_in import sign_in

handler400 = "esweb.error_pages.bad_request"
handler403 = "esweb.error_pages.permission_denied"
handler404 = "esweb.error_pages.page_not_found"
handler500 = "esweb.error_pages.server_error"
urlpatterns = [
    path("", include("runs.urls")),
    path("", include("judging.urls")),
    path("api/v1/docs", api_docs, name="api-docs"),
    path("api/v1/", api.urls),
    path("admin/", admin.site.urls),
    path("login/", LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("sign-in/<str:token>/", sign_in, name="sign-in"),
    path("words.js", script_words, name="script-words"),
    path(ADDRESS.removeprefix("/"), health, name="health"),
]
