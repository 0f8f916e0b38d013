"""Addresses of judging: what is under /vote/ is open to whoever was invited, all else is for people of the site."""

from __future__ import annotations

from django.urls import include, path

from judging.views.board_history import tournament_board_history, tournament_board_history_chart
from judging.views.boards import (
    tournament_board,
    tournament_board_chart,
    tournament_board_file,
    tournament_board_order,
)
from judging.views.criteria import criteria, criterion, rubric
from judging.views.gold import gold_sets
from judging.views.judges import judge, judge_change, judge_edit, judge_new, judges
from judging.views.judging_by_models import assignment_change, tournament_judges, tournament_judges_standing
from judging.views.judgment_files import judgments_import, tournament_file, tournament_files
from judging.views.making import tournament_new
from judging.views.news import judging_news
from judging.views.panels import tournament_panels
from judging.views.run_ratings import run_ratings
from judging.views.tournament import (
    tournament,
    tournament_change,
    tournament_invite,
    tournament_standing,
    tournament_uninvite,
)
from judging.views.tournaments import tournaments
from judging.views.voting import vote, vote_choices, vote_link, vote_reveal, vote_turns

tournament_urls = [
    path("", tournament, name="tournament"),
    path("standing/", tournament_standing, name="tournament-standing"),
    path("change/", tournament_change, name="tournament-change"),
    path("judges/", tournament_judges, name="tournament-judges"),
    path("judges/standing/", tournament_judges_standing, name="tournament-judges-standing"),
    path("board/", tournament_board, name="tournament-board"),
    path("board/order/", tournament_board_order, name="tournament-board-order"),
    path("board/chart/", tournament_board_chart, name="tournament-board-chart"),
    path("board/file/", tournament_board_file, name="tournament-board-file"),
    path("board/history/", tournament_board_history, name="tournament-board-history"),
    path("board/history/chart/", tournament_board_history_chart, name="tournament-board-history-chart"),
    path("panels/", tournament_panels, name="tournament-panels"),
    path("files/", tournament_files, name="tournament-files"),
    path("files/<slug:form>/", tournament_file, name="tournament-file"),
    path("invitations/", tournament_invite, name="tournament-invite"),
    path("invitations/<int:n>/revoke/", tournament_uninvite, name="tournament-uninvite"),
]

judges_urls = [
    path("", judges, name="judges"),
    path("new/", judge_new, name="judge-new"),
    path("<int:pk>/", judge, name="judge"),
    path("<int:pk>/edit/", judge_edit, name="judge-edit"),
    path("<int:pk>/change/", judge_change, name="judge-change"),
]

criteria_urls = [
    path("", criteria, name="criteria"),
    path("<slug:slug>/", criterion, name="criterion"),
    path("<slug:slug>/<int:version>/", rubric, name="rubric"),
]

vote_urls = [
    path("", vote, name="vote"),
    path("turns/", vote_turns, name="vote-turns"),
    path("turns/<int:n>/reveal/", vote_reveal, name="vote-reveal"),
    path("choices/", vote_choices, name="vote-choices"),
]

urlpatterns = [
    path("judging/", tournaments, name="tournaments"),
    path("judging/new/", tournament_new, name="tournament-new"),
    path("judging/import/", judgments_import, name="judgments-import"),
    path("judging/news/", judging_news, name="judging-news"),
    path("judging/criteria/", include(criteria_urls)),
    path("judging/gold/", gold_sets, name="gold-sets"),
    path("judging/judges/", include(judges_urls)),
    path("judging/assignments/<int:pk>/change/", assignment_change, name="assignment-change"),
    path("judging/<int:pk>/", include(tournament_urls)),
    path("runs/<slug:uid>/ratings/", run_ratings, name="run-ratings"),
    path("vote/link/<str:text>/", vote_link, name="vote-link"),
    path("vote/<int:pk>/", include(vote_urls)),
]
