"""Addresses of files of judgments."""

from __future__ import annotations

from django.urls import path

from judging.exchange.views import judgments_import, tournament_file, tournament_files

urlpatterns = [
    path("judging/import/", judgments_import, name="judgments-import"),
    path("judging/<int:pk>/files/", tournament_files, name="tournament-files"),
    path("judging/<int:pk>/files/<slug:form>/", tournament_file, name="tournament-file"),
]
