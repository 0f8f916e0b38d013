"""URLs of voting, which are open to invited voters."""

from __future__ import annotations

from django.urls import path

from judging.voting.views import vote, vote_choices, vote_link, vote_reveal, vote_turns

urlpatterns = [
    path("vote/link/<str:text>/", vote_link, name="vote-link"),
    path("vote/<int:pk>/", vote, name="vote"),
    path("vote/<int:pk>/turns/", vote_turns, name="vote-turns"),
    path("vote/<int:pk>/turns/<int:n>/reveal/", vote_reveal, name="vote-reveal"),
    path("vote/<int:pk>/choices/", vote_choices, name="vote-choices"),
]
