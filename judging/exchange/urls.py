"""URLs of files of judgments."""

from __future__ import annotations

from django.urls import path
from django.utils.translation import gettext_noop as _

from judging.exchange.views import judgments_import, tournament_file, tournament_files
from runs.http import PalettePage, register_pages

register_pages(PalettePage("judgments-import", _("Judging: import judgments")))

urlpatterns = [
    path("judging/import/", judgments_import, name="judgments-import"),
    path("judging/<int:pk>/files/", tournament_files, name="tournament-files"),
    path("judging/<int:pk>/files/<slug:form>/", tournament_file, name="tournament-file"),
]
