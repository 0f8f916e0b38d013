"""Addresses of archives of experiments."""

from __future__ import annotations

from django.urls import path
from django.utils.translation import gettext_noop as _

from esweb.experiment_archives.views import experiment_export, experiment_export_file, experiment_import
from runs.http import PalettePage, register_pages

register_pages(PalettePage("experiment-import", _("Import an experiment")))

urlpatterns = [
    path("experiments/import/", experiment_import, name="experiment-import"),
    path("experiments/<int:pk>/export/", experiment_export, name="experiment-export"),
    path("experiments/<int:pk>/export/file/", experiment_export_file, name="experiment-export-file"),
]
