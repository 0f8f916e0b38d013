"""Addresses of the settings. Only the invitation is open to everybody: it is for users who cannot sign in yet."""

from __future__ import annotations

from django.contrib.auth.views import PasswordChangeView, PasswordResetConfirmView
from django.urls import path, reverse_lazy
from django.utils.translation import gettext_noop as _
from django.views.generic import RedirectView

from runs.accounts.views import people, person_change, secret_delete, secrets, token_revoke, tokens
from runs.http import PalettePage, register_pages

register_pages(
    PalettePage("settings-tokens", _("Settings: tokens")),
    PalettePage("settings-secrets", _("Settings: secrets")),
    PalettePage("settings-password", _("Settings: password")),
    PalettePage("settings-people", _("Settings: users"), is_for_admins=True),
)

urlpatterns = [
    path("settings/", RedirectView.as_view(pattern_name="settings-tokens"), name="settings"),
    path("settings/tokens/", tokens, name="settings-tokens"),
    path("settings/tokens/<int:pk>/revoke/", token_revoke, name="settings-token-revoke"),
    path("settings/secrets/", secrets, name="settings-secrets"),
    path("settings/secrets/<int:pk>/delete/", secret_delete, name="settings-secret-delete"),
    path("settings/people/", people, name="settings-people"),
    path("settings/people/<int:pk>/", person_change, name="settings-person"),
    path(
        "settings/password/",
        PasswordChangeView.as_view(
            template_name="accounts/password.html", success_url=reverse_lazy("settings"),
            extra_context={"tab": "password"},
        ),
        name="settings-password",
    ),
    path(
        "invitation/<uidb64>/<token>/",
        PasswordResetConfirmView.as_view(
            template_name="accounts/invitation.html", success_url=reverse_lazy("login"),
            reset_url_token="yours",  # noqa: S106 (a word in the address, once the session knows the link)
        ),
        name="invitation",
    ),
]  # fmt: skip
