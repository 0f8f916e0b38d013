"""Addresses of flags: dismissals, and the thresholds of the site and of experiments."""

from __future__ import annotations

from django.urls import path
from django.utils.translation import gettext_noop as _

from runs.flags.views import experiment_thresholds, flag_dismiss, flag_undo, site_thresholds
from runs.http import PalettePage, register_pages

register_pages(PalettePage("settings-flags", _("Settings: thresholds of flags"), is_for_admins=True))

urlpatterns = [
    path("runs/<slug:uid>/flags/<int:pk>/dismiss/", flag_dismiss, name="flag-dismiss"),
    path("runs/<slug:uid>/flags/<int:pk>/undo/", flag_undo, name="flag-undo"),
    path("settings/flags/", site_thresholds, name="settings-flags"),
    path("experiments/<int:pk>/flags/", experiment_thresholds, name="experiment-flags"),
]
