"""Filters and sorts by verdicts on one of three columns give the rows that it and the pinned column give alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict

from judging import judge_runs, judges
from judging.models import Tournament
from judging.tournaments import Entry, create_tournament
from runs.models import Experiment, Run
from runs.responses.viewer import columns_of, find, parse_response_query, picked
from tests.cases import each_case
from tests.judging.tournament_factory import rubric
from tests.runs.viewer_responses import make_response, model

LENGTHS = ((1, 2, 3), (3, 2, 1), (2, 1, 3), (1, 3, 2))
"""Words of the three runs' responses by row."""


@pytest.fixture
def trio(ada: User, experiment: Experiment, runs_dir: Path) -> list[Run]:
    """Return three runs that have met in a tournament, judged by rules."""
    runs = [
        model(
            experiment, f"run {k}",
            [make_response(n, f"{'word ' * words[k]}{k} {n}", 0.0, None) for n, words in enumerate(LENGTHS)], seed=k,
        )
        for k in range(3)
    ]  # fmt: skip
    entries = [Entry(run, 500, "eval") for run in runs]
    tournament = create_tournament(Tournament(owner=ada, name="Met"), entries, [rubric("helpfulness")], len(LENGTHS))
    judge_runs.judge_all(tournament, judges.rules_judge())
    return runs


def rows(person: User, runs: list[Run], query: str, pin: Run) -> list[int]:
    columns = columns_of(person, [run.uid for run in runs], f"{pin.uid}@500")
    options = parse_response_query(QueryDict(query), columns.letters, picked=picked(columns))
    assert options.problems == ()
    return [row.cursor.row for row in find(columns, options, 50).rows]


@each_case("query", ["sort=-won&of={c}", "unjudged=no&in={c}", "sort=-disagreement&in={c}&unjudged=no"])
@each_case("pinned", [0, 1])
def test_verdicts_on_one_column_are_the_same_with_other_columns(
    ada: User, trio: list[Run], query: str, pinned: int
) -> None:
    alone = rows(ada, [trio[pinned], trio[2]], query.format(c="B"), trio[pinned])
    assert rows(ada, trio, query.format(c="C"), trio[pinned]) == alone
    assert len(alone) == len(LENGTHS)


def test_flag_in_any_column_counts_verdicts_on_all(ada: User, trio: list[Run]) -> None:
    assert rows(ada, trio, "unjudged=no", trio[0]) == [0, 1, 2, 3]
    assert rows(ada, trio, "unjudged=yes&in=A", trio[0]) == []
