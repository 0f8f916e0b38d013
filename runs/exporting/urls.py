"""Addresses of exports of runs."""

from __future__ import annotations

from django.urls import path

from runs.exporting.views import run_export, run_export_file

urlpatterns = [
    path("runs/<slug:uid>/export/", run_export, name="run-export"),
    path("runs/<slug:uid>/export/file/", run_export_file, name="run-export-file"),
]
