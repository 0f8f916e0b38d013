"""Long lists of judging are paginated with their total; short lists are shown whole."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from judging.boards import BoardSettings
from judging.boards.forms import JUDGES_OFFERED
from judging.models import Judge, Tournament, Voter
from runs.models import Experiment
from tests.judging.boards.test_votes import model_judge
from tests.judging.bulk_verdicts import add_judge_verdicts
from tests.judging.long_lists import add_named_judges, extend_lists
from tests.judging.tournament_factory import make_tournament, rubric

pytestmark = pytest.mark.django_db
LISTS = [
    ("tournament", "voters", "voters", 50),
    ("tournament", "invited", "invitations", 50),
    ("tournament-board", "speakers", "voters and judges", 50),
    ("tournament-files", "page", "files", 50),
    ("tournament-judges", "page", "assignments", 50),
    ("judge", "work", "assignments", 20),
    ("judge", "calibrations", "calibrations", 20),
    ("criterion", "page", "versions", 50),
]
"""(page, the list's page parameter, its noun, its page size)"""


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return make_tournament(ada, experiment, prompts=1, contestants=2)


@pytest.fixture
def judge(ada: User) -> Judge:
    return model_judge(ada)


def at(page: str, tournament: Tournament, judge: Judge) -> str:
    return reverse(page, args=[{"judge": judge.pk, "criterion": "helpfulness"}.get(page, tournament.pk)])


def page_text(client: Client, address: str, **query: object) -> str:
    answer = client.get(address, query)
    assert answer.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def test_short_lists_have_no_pagination(ada_client: Client, tournament: Tournament, judge: Judge) -> None:
    extend_lists(tournament, judge, 0, 3)
    for page in dict.fromkeys(page for page, *_ in LISTS):
        assert 'class="pages"' not in ada_client.get(at(page, tournament, judge)).content.decode(), page


ENDS = {
    ("tournament", "voters"): ("voter 00000", "voter 00059"),
    ("tournament", "invited"): ("guest 00000", "guest 00059"),
    ("tournament-files", "page"): ("file 00059", "file 00000"),
    ("criterion", "page"): ("version 61 ", "version 1 "),
}
"""Texts that are only on the first page of a list, and only on the second."""


def test_long_lists_are_paginated_with_total(ada_client: Client, tournament: Tournament, judge: Judge) -> None:
    extend_lists(tournament, judge, 0, 60)
    for page, key, noun, size in LISTS:
        # The rubric that the tournament is judged by is a version of its own.
        total = 61 if page == "criterion" else 60
        address = at(page, tournament, judge)
        pages = [page_text(ada_client, address, **query) for query in ({}, {key: 2})]
        assert f"1–{size} of {total} {noun} shown" in pages[0], (page, key)
        assert f"{size + 1}–{min(2 * size, total)} of {total} {noun} shown" in pages[1], (page, key)
        for n, end in enumerate(ENDS.get((page, key), ())):
            assert [end in text for text in pages] == [n == 0, n == 1], (page, end)


def test_invalid_page_number_shows_some_page(ada_client: Client, tournament: Tournament, judge: Judge) -> None:
    extend_lists(tournament, judge, 0, 60)
    address = at("tournament", tournament, judge)
    assert " of 60 voters shown" in page_text(ada_client, address, voters="beyond")


def test_two_lists_on_a_page_are_paginated_separately(
    ada_client: Client, bo_client: Client, tournament: Tournament, judge: Judge
) -> None:
    extend_lists(tournament, judge, 0, 120)
    here = tournament.get_absolute_url()
    page = ada_client.get(here, {"voters": 2, "invited": 3}).content.decode()
    for link in (
        f"{here}?voters=3&amp;invited=3#tournament-standing",
        f"{here}?voters=2&amp;invited=2#invite",
        f'hx-get="{reverse("tournament-standing", args=[tournament.pk])}?voters=2&amp;invited=3"',
    ):
        assert link in page, link
    text = page_text(ada_client, reverse("tournament-standing", args=[tournament.pk]), voters=2)
    assert "51–100 of 120 voters shown" in text and "voter 00050" in text and "voter 00049" not in text
    refused = ada_client.post(reverse("tournament-invite", args=[tournament.pk]), {"names": "", "days": 1})
    assert f'href="{here}?invited=2#invite"' in refused.content.decode(), "not where only forms are sent"
    ended = reverse("tournament-uninvite", args=[tournament.pk, tournament.invitations.get(name="guest 00119").pk])
    assert f'action="{ended}?invited=3"' in ada_client.get(here, {"invited": 3}).content.decode()
    assert ada_client.post(f"{ended}?invited=3")["Location"] == f"{here}?invited=3#invite", "where one was"
    others = page_text(bo_client, here, voters=2, invited=2)
    assert "120 voters" in others and "voter 0" not in others and "guest" not in others


def test_excluded_judge_is_listed_last_with_own_board(
    ada: User, ada_client: Client, tournament: Tournament, judge: Judge
) -> None:
    add_judge_verdicts(tournament, rubric("helpfulness"), judge=judge)
    add_named_judges(tournament, 0, 60)
    board = at("tournament-board", tournament, judge)
    first, last = (page_text(ada_client, board, speakers=n) for n in (1, 2))
    assert "1 of them is left out, and is listed last." in first and "has not been calibrated" not in first
    assert "51–61 of 61 voters and judges shown" in last and "has not been calibrated" in last

    offered = ada_client.get(board).context["form"].fields["whose"].choices
    assert len(offered) == 3 + JUDGES_OFFERED
    hidden = Judge.objects.get(name="named 00059")
    page = ada_client.get(board, {"speakers": 2}).content.decode()
    assert f'{board}?criterion=helpfulness&amp;whose=judge-{hidden.pk}"' in page
    alone = ada_client.get(board, {"whose": f"judge-{hidden.pk}"})
    assert alone.context["form"].fields["whose"].choices[-1] == (f"judge-{hidden.pk}", "named 00059")
    settings = BoardSettings.parse({"whose": f"judge-{hidden.pk}"})
    answer = ada_client.post(
        f"{reverse('tournament-board-order', args=[tournament.pk])}?{settings.query}", settings.to_json()
    )
    assert answer.status_code == 302


def test_paginated_pages_query_count_is_constant(ada_client: Client, tournament: Tournament, judge: Judge) -> None:
    pages = list(dict.fromkeys(page for page, *_ in LISTS))

    def count_queries() -> dict[str, int]:
        counts = {}
        for page in pages:
            with CaptureQueriesContext(connection) as queries:
                ada_client.get(at(page, tournament, judge))
            counts[page] = len(queries)
        return counts

    extend_lists(tournament, judge, 0, 2)
    count_queries()
    few = count_queries()
    extend_lists(tournament, judge, 2, 60)
    assert count_queries() == few
    assert Voter.objects.count() == 60 and max(few.values()) <= 30
