"""Addresses of imports."""

from __future__ import annotations

from django.urls import path

from runs.importing.views import import_files, import_undo

urlpatterns = [
    path("import/", import_files, name="import"),
    path("import/undo/", import_undo, name="import-undo"),
]
