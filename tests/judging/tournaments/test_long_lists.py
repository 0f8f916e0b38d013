"""Lists of judging that have no end come a page at a time, with how many there are; short ones come whole."""

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
from tests.judging.bulk_verdicts import ruled
from tests.judging.long_lists import heard, lengthen
from tests.judging.tournament_factory import held, rubric

pytestmark = pytest.mark.django_db
LISTS = [
    ("tournament", "voters", "voters", 50),
    ("tournament", "invited", "invitations", 50),
    ("tournament-board", "speakers", "people and judges", 50),
    ("tournament-files", "page", "files", 50),
    ("tournament-judges", "page", "assignments", 50),
    ("judge", "work", "assignments", 20),
    ("judge", "calibrations", "calibrations", 20),
    ("criterion", "page", "versions", 50),
]
"""(page, the parameter that leafs through the list, what it holds, how much of it a page shows)"""


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return held(ada, experiment, prompts=1, contestants=2)


@pytest.fixture
def judge(ada: User) -> Judge:
    return model_judge(ada)


def at(page: str, tournament: Tournament, judge: Judge) -> str:
    return reverse(page, args=[{"judge": judge.pk, "criterion": "helpfulness"}.get(page, tournament.pk)])


def words(client: Client, address: str, **asked: object) -> str:
    answer = client.get(address, asked)
    assert answer.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def test_a_few_are_shown_whole_and_without_a_word(ada_client: Client, tournament: Tournament, judge: Judge) -> None:
    lengthen(tournament, judge, 0, 3)
    for page in dict.fromkeys(page for page, *_ in LISTS):
        assert 'class="pages"' not in ada_client.get(at(page, tournament, judge)).content.decode(), page


ENDS = {
    ("tournament", "voters"): ("voter 00000", "voter 00059"),
    ("tournament", "invited"): ("guest 00000", "guest 00059"),
    ("tournament-files", "page"): ("file 00059", "file 00000"),
    ("criterion", "page"): ("version 61 ", "version 1 "),
}
"""What is on the first page of a list alone, and on the second alone."""


def test_of_many_a_page_is_shown_with_how_many_there_are(
    ada_client: Client, tournament: Tournament, judge: Judge
) -> None:
    lengthen(tournament, judge, 0, 60)
    for page, key, what, size in LISTS:
        # The rubric that the tournament is judged by is a version of its own.
        total = 61 if page == "criterion" else 60
        address = at(page, tournament, judge)
        pages = [words(ada_client, address, **asked) for asked in ({}, {key: 2})]
        assert f"1–{size} of {total} {what} shown" in pages[0], (page, key)
        assert f"{size + 1}–{min(2 * size, total)} of {total} {what} shown" in pages[1], (page, key)
        for n, end in enumerate(ENDS.get((page, key), ())):
            assert [end in shown for shown in pages] == [n == 0, n == 1], (page, end)


def test_a_page_that_is_none_is_some_page(ada_client: Client, tournament: Tournament, judge: Judge) -> None:
    lengthen(tournament, judge, 0, 60)
    address = at("tournament", tournament, judge)
    assert " of 60 voters shown" in words(ada_client, address, voters="beyond")


def test_two_lists_of_a_page_are_leafed_through_apart(
    ada_client: Client, bo_client: Client, tournament: Tournament, judge: Judge
) -> None:
    lengthen(tournament, judge, 0, 120)
    here = tournament.get_absolute_url()
    page = ada_client.get(here, {"voters": 2, "invited": 3}).content.decode()
    for link in (
        f"{here}?voters=3&amp;invited=3#tournament-standing",
        f"{here}?voters=2&amp;invited=2#invite",
        f'hx-get="{reverse("tournament-standing", args=[tournament.pk])}?voters=2&amp;invited=3"',
    ):
        assert link in page, link
    standing = words(ada_client, reverse("tournament-standing", args=[tournament.pk]), voters=2)
    assert "51–100 of 120 voters shown" in standing and "voter 00050" in standing and "voter 00049" not in standing
    refused = ada_client.post(reverse("tournament-invite", args=[tournament.pk]), {"names": "", "days": 1})
    assert f'href="{here}?invited=2#invite"' in refused.content.decode(), "not where only forms are sent"
    ended = reverse("tournament-uninvite", args=[tournament.pk, tournament.invitations.get(name="guest 00119").pk])
    assert f'action="{ended}?invited=3"' in ada_client.get(here, {"invited": 3}).content.decode()
    assert ada_client.post(f"{ended}?invited=3")["Location"] == f"{here}?invited=3#invite", "where one was"
    others = words(bo_client, here, voters=2, invited=2)
    assert "120 voters" in others and "voter 0" not in others and "guest" not in others


def test_who_is_left_out_comes_last_and_everybodys_own_board_is_found(
    ada: User, ada_client: Client, tournament: Tournament, judge: Judge
) -> None:
    ruled(tournament, rubric("helpfulness"), judge=judge)
    heard(tournament, 0, 60)
    board = at("tournament-board", tournament, judge)
    first, last = (words(ada_client, board, speakers=n) for n in (1, 2))
    assert "1 of them is left out, and comes last." in first and "has not been held against" not in first
    assert "51–61 of 61 people and judges shown" in last and "has not been held against people" in last

    offered = ada_client.get(board).context["form"].fields["whose"].choices
    assert len(offered) == 3 + JUDGES_OFFERED
    hidden = Judge.objects.get(name="named 00059")
    page = ada_client.get(board, {"speakers": 2}).content.decode()
    assert f'{board}?criterion=helpfulness&amp;whose=judge-{hidden.pk}"' in page
    alone = ada_client.get(board, {"whose": f"judge-{hidden.pk}"})
    assert alone.context["form"].fields["whose"].choices[-1] == (f"judge-{hidden.pk}", "named 00059")
    said = BoardSettings.of({"whose": f"judge-{hidden.pk}"})
    answer = ada_client.post(f"{reverse('tournament-board-order', args=[tournament.pk])}?{said.query}", said.to_json())
    assert answer.status_code == 302


def test_pages_ask_as_often_however_long_their_lists_are(
    ada_client: Client, tournament: Tournament, judge: Judge
) -> None:
    pages = list(dict.fromkeys(page for page, *_ in LISTS))

    def asked() -> dict[str, int]:
        found = {}
        for page in pages:
            with CaptureQueriesContext(connection) as queries:
                ada_client.get(at(page, tournament, judge))
            found[page] = len(queries)
        return found

    lengthen(tournament, judge, 0, 2)
    asked()
    few = asked()
    lengthen(tournament, judge, 2, 60)
    assert asked() == few
    assert Voter.objects.count() == 60 and max(few.values()) <= 30
