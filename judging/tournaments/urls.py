"""Addresses of tournaments."""

from __future__ import annotations

from django.urls import path
from django.utils.translation import gettext_noop as _

from judging.tournaments.create_view import tournament_new
from judging.tournaments.list import tournament_entries, tournaments
from judging.tournaments.views import (
    tournament,
    tournament_change,
    tournament_invite,
    tournament_leaders,
    tournament_standing,
    tournament_uninvite,
)
from runs.http import PalettePage, register_pages, register_source

register_pages(PalettePage("tournaments", _("Judging: tournaments")))
register_source(tournament_entries)

urlpatterns = [
    path("judging/", tournaments, name="tournaments"),
    path("judging/new/", tournament_new, name="tournament-new"),
    path("judging/<int:pk>/", tournament, name="tournament"),
    path("judging/<int:pk>/standing/", tournament_standing, name="tournament-standing"),
    path("judging/<int:pk>/leaders/", tournament_leaders, name="tournament-leaders"),
    path("judging/<int:pk>/change/", tournament_change, name="tournament-change"),
    path("judging/<int:pk>/invitations/", tournament_invite, name="tournament-invite"),
    path("judging/<int:pk>/invitations/<int:n>/revoke/", tournament_uninvite, name="tournament-uninvite"),
]
