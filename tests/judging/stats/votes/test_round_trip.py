"""Judgments that are written in either format and read back give the same board."""

from __future__ import annotations

import json

import pytest

from judging.stats.ratings import RatingOptions, Resampling, compute_board
from judging.stats.votes import (
    FORMATS,
    Judgment,
    Outcome,
    fastchat_lines,
    list_criteria,
    published_lines,
    read_judgments,
    votes_by_criterion,
)
from tests.cases import each_case
from tests.judging.published_votes import judgments_path, needs_data

RATING_OPTIONS = RatingOptions(resampling=Resampling(resamples=50))


def round_trip(judgments, format_name) -> tuple[Judgment, ...]:
    result = read_judgments("\n".join(FORMATS[format_name](judgments)), "x")
    assert not result.problems
    return result.judgments


def hashes(judgments) -> list[str]:
    return [
        compute_board(votes_by_criterion(judgments, criterion), RATING_OPTIONS).hash
        for criterion in list_criteria(judgments)
    ]


@needs_data
@each_case("written", FORMATS)
def test_the_published_judgments_give_the_same_boards(written):
    before = read_judgments(judgments_path().read_text(), "x").judgments
    assert hashes(round_trip(before, written)) == hashes(before)


@needs_data
def test_published_file_round_trips():
    text = judgments_path().read_text()
    before = [json.loads(line) for line in text.splitlines()]
    assert [json.loads(line) for line in published_lines(read_judgments(text, "x").judgments)] == before


def test_judgment_fields_survive_both_formats():
    judgments = (
        Judgment("ada", "bo", "help", "3", "judge 1", (8, 4), lengths=(10, 20), categories=("law", "sport")),
        Judgment("bo", "ada", "help", "a \ud800 prompt", "judge 1", (8, 4), Outcome.TIE, order_known=False),
        Judgment("bo", "ada", "help", "007", verdict=Outcome.REFUSED),
        Judgment("bo", "ada", "help", "8", verdict=Outcome.UNPARSED),
    )
    assert round_trip(judgments, "published") == judgments
    verdicts = [judgment.outcome(0.5) for judgment in judgments]
    returned = round_trip(judgments, "fastchat")
    assert [judgment.verdict for judgment in returned] == verdicts
    assert [
        (judgment.prompt, judgment.annotator, judgment.categories, judgment.lengths, judgment.order_known)
        for judgment in returned
    ] == [
        (judgment.prompt, judgment.annotator, judgment.categories, judgment.lengths, judgment.order_known)
        for judgment in judgments
    ]


def test_vote_without_scores_requires_fastchat_format():
    votes = (Judgment("ada", "bo", "help", "1", "eve", verdict=Outcome.BOTH_BAD),)
    assert round_trip(votes, "fastchat") == votes
    assert json.loads(next(fastchat_lines(votes)))["winner"] == "tie (bothbad)"
    with pytest.raises(
        ValueError, match="has a winner but no scores, which the published format cannot hold; use FastChat"
    ):
        list(published_lines(votes))


def test_extra_vote_changes_board_hash():
    votes = [Judgment("ada", "bo", "", str(k), verdict=Outcome(k % 3)) for k in range(30)]
    assert hashes(votes) == hashes(list(votes))
    assert hashes(votes) != hashes([*votes, votes[0]])
