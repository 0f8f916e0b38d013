"""URLs of boards and panels."""

from __future__ import annotations

from django.urls import path

from judging.boards.files import tournament_board_file
from judging.boards.history import tournament_board_history, tournament_board_history_chart
from judging.boards.panels.views import tournament_panels
from judging.boards.views import tournament_board, tournament_board_chart, tournament_board_order

urlpatterns = [
    path("judging/<int:pk>/board/", tournament_board, name="tournament-board"),
    path("judging/<int:pk>/board/order/", tournament_board_order, name="tournament-board-order"),
    path("judging/<int:pk>/board/chart/", tournament_board_chart, name="tournament-board-chart"),
    path("judging/<int:pk>/board/file/", tournament_board_file, name="tournament-board-file"),
    path("judging/<int:pk>/board/history/", tournament_board_history, name="tournament-board-history"),
    path(
        "judging/<int:pk>/board/history/chart/", tournament_board_history_chart, name="tournament-board-history-chart"
    ),
    path("judging/<int:pk>/panels/", tournament_panels, name="tournament-panels"),
]
