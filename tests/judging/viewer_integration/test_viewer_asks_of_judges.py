"""The viewer finds and sorts rows by what judges said of their answers, and tells no voter what others say."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from judging.models import Voter
from judging.tournaments import commands
from runs.models import Experiment
from runs.responses import viewer
from runs.responses.viewer import asked_of, columns_of, find, picked
from runs.responses.viewer.annotations import tellers
from tests.judging.viewer_integration.judged_responses import Meeting, judge_named, meeting
from tests.runs.viewer_responses import address

pytestmark = pytest.mark.django_db


@pytest.fixture
def met(ada: User, experiment: Experiment, runs_dir: Path) -> Meeting:
    """Row 0: judges split. 1: swapped sides change a judge's mind. 2: a person against a judge. 3: the judge prefers
    base, which has the lower reward. 4: so it does for harmlessness alone. 5: nobody said anything."""
    made = meeting(ada, experiment)
    one, other = judge_named("Uno"), judge_named("Due")
    made.judge(one, 0, "tuned", "tuned")
    made.judge(other, 0, "base", "base")
    made.judge(one, 1, "base", "tuned")
    made.judge(one, 2, "tuned", "tuned")
    made.judge(one, 3, "base", "base")
    made.judge(one, 4, "tuned", "tuned")
    made.judge(one, 4, "base", "base", by=made.harmless)
    return made


@pytest.fixture
def person(met: Meeting, cy: User) -> Voter:
    """Cy, who says of row 2 what the judge does not."""
    voter = Voter.objects.create(tournament=met.tournament, number=1, user=cy)
    met.vote(voter, 2, "base")
    return voter


def rows(person: User, met: Meeting, query: str = "") -> list[int]:
    """The rows that are found, in their order."""
    columns = columns_of(person, [met.base.uid, met.tuned.uid])
    asked = asked_of(QueryDict(query), columns.letters, (), picked(columns))
    assert asked.problems == ()
    return [row.place.row for row in find(columns, asked, 50).rows]


FOUND = {
    "disagree=yes": [0, 2], "disagree=no": [1, 3, 4], "swapped=yes": [1], "people_against=yes": [2],
    "reward_against=yes": [2, 3, 4], "reward_against=yes&criterion=helpfulness": [3],
    "cost_against=yes&criterion=harmlessness": [2, 4], "unjudged=yes": [5],
    "unjudged=no&in=B": [0, 1, 2, 3, 4],
    "unjudged=yes&criterion=harmlessness": [0, 1, 3, 5], "disagree=yes&in=A": [], "unjudged=yes&in=A": [],
    "sort=-disagreement": [0, 2, 1, 3, 4, 5], "sort=-won&criterion=helpfulness": [4, 0, 1, 2, 3, 5],
    "sort=won&criterion=helpfulness": [3, 0, 1, 2, 4, 5],
    "sort=-uncertainty&criterion=helpfulness": [1, 3, 4, 0, 2, 5],
    "disagree=yes&sort=-row&q=rest": [2, 0],
}  # fmt: skip
"""Which rows each query finds, in their order."""


def test_what_is_asked_of_judges_is_found(ada: User, met: Meeting, person: Voter) -> None:
    assert {query: rows(ada, met, query) for query in FOUND} == FOUND


def test_whoever_votes_learns_nothing_of_pairs_that_they_have_not_judged(
    bo: User, ada: User, met: Meeting, person: Voter
) -> None:
    assert rows(bo, met, "disagree=yes") == [], "they may vote, and have not begun"
    voter = Voter.objects.create(tournament=met.tournament, number=2, user=bo)
    assert rows(bo, met, "disagree=yes") == []
    assert rows(bo, met, "unjudged=yes") == [0, 1, 2, 3, 4, 5]
    met.vote(voter, 0, "tuned")
    assert rows(bo, met, "disagree=yes") == [0]
    assert rows(ada, met, "disagree=yes") == [0, 2]
    commands.close(met.tournament)
    assert rows(bo, met, "disagree=yes") == [0, 2]


def test_each_answer_has_a_chip_a_criterion_that_says_who_said_what(
    ada_client: Client, bo_client: Client, bo: User, met: Meeting, person: Voter
) -> None:
    page = ada_client.get(address(met.base, met.tuned))
    chips = {row.prompt.row: row.cells[1].told for row in page.context["rows"]}
    assert [(chip.words, chip.tone, list(chip.lines)) for chip in chips[0]] == [
        ("helpfulness: tied, 1 to 1", "idle", ["Uno: won", "Due: lost"])
    ]
    assert [list(chip.lines) for chip in chips[1]] == [["Uno: not the same both ways round"]]
    assert [chip.words for chip in chips[2]] == ["harmlessness: lost", "helpfulness: tied, 1 to 1"]
    assert [chip.words for chip in chips[4]] == ["harmlessness: lost", "helpfulness: won"]
    assert "1 person: 0 won, 1 lost" in page.content.decode()
    assert "cy" not in [line for row in chips.values() for chip in row for line in chip.lines]
    assert not any(row.cells[0].told for row in page.context["rows"])
    turned = ada_client.get(address(met.base, met.tuned, pin=f"{met.tuned.uid}@500"))
    assert [chip.words for chip in turned.context["rows"][4].cells[0].told] == [
        "harmlessness: won",
        "helpfulness: lost",
    ]

    Voter.objects.create(tournament=met.tournament, number=2, user=bo)
    blind = bo_client.get(address(met.base, met.tuned))
    assert not any(cell.told for row in blind.context["rows"] for cell in row.cells)
    said = "shown only where you have judged them yourself"
    assert said in blind.content.decode() and said not in page.content.decode()


def test_only_who_may_see_the_tournament_sees_anything_of_it(
    ada: User, ada_client: Client, bo_client: Client, experiment: Experiment, runs_dir: Path
) -> None:
    made = meeting(ada, experiment, rows=2, is_private=True)
    made.judge(judge_named("Uno"), 0, "tuned", "tuned")
    here = address(made.base, made.tuned)
    assert 'name="disagree"' in ada_client.get(here).content.decode()
    page = bo_client.get(here)
    assert 'name="disagree"' not in page.content.decode() and "Uno" not in page.content.decode()
    assert [row.prompt.row for row in bo_client.get(f"{here}&unjudged=no").context["rows"]] == []


def test_what_is_picked_wrongly_is_said_and_words_of_what_is_asked_take_it_back(
    ada_client: Client, met: Meeting
) -> None:
    page = ada_client.get(address(met.base, met.tuned, criterion="beauty")).content.decode()
    assert "criterion must be one of harmlessness, helpfulness, not &#x27;beauty&#x27;" in page
    asked = ada_client.get(address(met.base, met.tuned, criterion="helpfulness", disagree="yes")).context["in_words"]
    assert [words for words, _ in asked][1:] == ["Judged by: helpfulness"]
    assert "disagree" not in asked[0][1] and "criterion=helpfulness" in asked[0][1]


def test_the_export_is_asked_alike(ada_client: Client, met: Meeting) -> None:
    answer = ada_client.get(address(met.base, met.tuned, route="viewer-export", swapped="yes", form="jsonl"))
    assert [line.split('"row": "')[1][0] for line in answer.content.decode().splitlines()] == ["1", "1"]


def test_chips_cost_as_many_queries_for_many_answers_as_for_few(
    ada: User, ada_client: Client, experiment: Experiment, runs_dir: Path
) -> None:
    few, many = (meeting(ada, experiment, rows=n) for n in (1, 8))
    uno = judge_named("Uno")
    counts = []
    for made, judged in ((few, 1), (many, 8)):
        for row in range(judged):
            made.judge(uno, row, "tuned", "tuned")
        here = f"{reverse('viewer')}{address(made.base, made.tuned).removeprefix(reverse('viewer'))}&disagree=no"
        ada_client.get(here)
        with CaptureQueriesContext(connection) as asked:
            assert len(ada_client.get(here).context["rows"]) == judged
        counts.append(len(asked))
    assert counts[0] == counts[1]


def test_a_name_is_told_by_one_alone() -> None:
    (judged,) = tellers()
    with pytest.raises(ValueError, match="disagree, disagreement, people_against"):
        viewer.tell(judged)
