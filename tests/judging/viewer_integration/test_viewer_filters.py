"""The viewer filters and sorts rows by judges' verdicts, and hides other verdicts from voters."""

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
from runs.responses.viewer import columns_of, find, parse_response_query, picked
from runs.responses.viewer.annotations import sources
from tests.judging.viewer_integration.judged_responses import Meeting, judge_named, make_meeting
from tests.runs.viewer_responses import address

pytestmark = pytest.mark.django_db


@pytest.fixture
def met(ada: User, experiment: Experiment, runs_dir: Path) -> Meeting:
    """Row 0: judges split. 1: swapped sides change a judge's mind. 2: a person against a judge. 3: the judge prefers
    base, which has the lower reward. 4: so it does for harmlessness alone. 5: nobody said anything."""
    meeting = make_meeting(ada, experiment)
    first, second = judge_named("Uno"), judge_named("Due")
    meeting.judge(first, 0, "tuned", "tuned")
    meeting.judge(second, 0, "base", "base")
    meeting.judge(first, 1, "base", "tuned")
    meeting.judge(first, 2, "tuned", "tuned")
    meeting.judge(first, 3, "base", "base")
    meeting.judge(first, 4, "tuned", "tuned")
    meeting.judge(first, 4, "base", "base", by=meeting.harmless)
    return meeting


@pytest.fixture
def person(met: Meeting, cy: User) -> Voter:
    """Return Cy's voter, who contradicts the judge on row 2."""
    voter = Voter.objects.create(tournament=met.tournament, number=1, user=cy)
    met.vote(voter, 2, "base")
    return voter


def rows(person: User, met: Meeting, query: str = "") -> list[int]:
    """Return the rows that match the query, in their order."""
    columns = columns_of(person, [met.base.uid, met.tuned.uid])
    query_options = parse_response_query(QueryDict(query), columns.letters, (), picked(columns))
    assert query_options.problems == ()
    return [row.cursor.row for row in find(columns, query_options, 50).rows]


ROWS_BY_QUERY = {
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
"""The rows that match each query, in their order."""


def test_viewer_finds_rows_by_verdicts(ada: User, met: Meeting, person: Voter) -> None:
    assert {query: rows(ada, met, query) for query in ROWS_BY_QUERY} == ROWS_BY_QUERY


def test_voter_sees_only_verdicts_on_own_pairs(bo: User, ada: User, met: Meeting, person: Voter) -> None:
    assert rows(bo, met, "disagree=yes") == [], "they may vote, and have not begun"
    voter = Voter.objects.create(tournament=met.tournament, number=2, user=bo)
    assert rows(bo, met, "disagree=yes") == []
    assert rows(bo, met, "unjudged=yes") == [0, 1, 2, 3, 4, 5]
    met.vote(voter, 0, "tuned")
    assert rows(bo, met, "disagree=yes") == [0]
    assert rows(ada, met, "disagree=yes") == [0, 2]
    commands.close(met.tournament)
    assert rows(bo, met, "disagree=yes") == [0, 2]


def test_answer_has_chip_with_verdicts_per_criterion(
    ada_client: Client, bo_client: Client, bo: User, met: Meeting, person: Voter
) -> None:
    page = ada_client.get(address(met.base, met.tuned))
    chips = {row.prompt.row: row.cells[1].chips for row in page.context["rows"]}
    assert [(chip.words, chip.tone, list(chip.lines)) for chip in chips[0]] == [
        ("helpfulness: tied, 1 to 1", "idle", ["Uno: won", "Due: lost"])
    ]
    assert [list(chip.lines) for chip in chips[1]] == [["Uno: not the same in both orders"]]
    assert [chip.words for chip in chips[2]] == ["harmlessness: lost", "helpfulness: tied, 1 to 1"]
    assert [chip.words for chip in chips[4]] == ["harmlessness: lost", "helpfulness: won"]
    assert "1 human: 0 won, 1 lost" in page.content.decode()
    assert "cy" not in [line for row in chips.values() for chip in row for line in chip.lines]
    assert not any(row.cells[0].chips for row in page.context["rows"])
    turned = ada_client.get(address(met.base, met.tuned, pin=f"{met.tuned.uid}@500"))
    assert [chip.words for chip in turned.context["rows"][4].cells[0].chips] == [
        "harmlessness: won",
        "helpfulness: lost",
    ]

    Voter.objects.create(tournament=met.tournament, number=2, user=bo)
    blind = bo_client.get(address(met.base, met.tuned))
    assert not any(cell.chips for row in blind.context["rows"] for cell in row.cells)
    notice = "shown only for responses that you have judged yourself"
    assert notice in blind.content.decode() and notice not in page.content.decode()


def test_private_tournament_adds_nothing_to_viewer(
    ada: User, ada_client: Client, bo_client: Client, experiment: Experiment, runs_dir: Path
) -> None:
    hidden = make_meeting(ada, experiment, rows=2, is_private=True)
    hidden.judge(judge_named("Uno"), 0, "tuned", "tuned")
    here = address(hidden.base, hidden.tuned)
    assert 'name="disagree"' in ada_client.get(here).content.decode()
    page = bo_client.get(here)
    assert 'name="disagree"' not in page.content.decode() and "Uno" not in page.content.decode()
    assert [row.prompt.row for row in bo_client.get(f"{here}&unjudged=no").context["rows"]] == []


def test_viewer_reports_invalid_criterion_and_removable_filters(ada_client: Client, met: Meeting) -> None:
    page = ada_client.get(address(met.base, met.tuned, criterion="beauty")).content.decode()
    assert "criterion must be one of harmlessness, helpfulness, not &#x27;beauty&#x27;" in page
    filters = ada_client.get(address(met.base, met.tuned, criterion="helpfulness", disagree="yes")).context["in_words"]
    assert [words for words, _ in filters][1:] == ["Judged by: helpfulness"]
    assert "disagree" not in filters[0][1] and "criterion=helpfulness" in filters[0][1]


def test_export_respects_verdict_filters(ada_client: Client, met: Meeting) -> None:
    answer = ada_client.get(address(met.base, met.tuned, route="viewer-export", swapped="yes", form="jsonl"))
    assert [line.split('"row": "')[1][0] for line in answer.content.decode().splitlines()] == ["1", "1"]


def test_verdict_chips_query_count_is_constant(
    ada: User, ada_client: Client, experiment: Experiment, runs_dir: Path
) -> None:
    few, many = (make_meeting(ada, experiment, rows=n) for n in (1, 8))
    uno = judge_named("Uno")
    counts = []
    for match, judged in ((few, 1), (many, 8)):
        for row in range(judged):
            match.judge(uno, row, "tuned", "tuned")
        here = f"{reverse('viewer')}{address(match.base, match.tuned).removeprefix(reverse('viewer'))}&disagree=no"
        ada_client.get(here)
        with CaptureQueriesContext(connection) as queries:
            assert len(ada_client.get(here).context["rows"]) == judged
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_annotation_key_can_be_registered_once() -> None:
    (judged,) = sources()
    with pytest.raises(ValueError, match="disagree, disagreement, people_against"):
        viewer.register_source(judged)
