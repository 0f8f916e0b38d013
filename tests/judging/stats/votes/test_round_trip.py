"""What is written in either format and read back gives the very same board."""

from __future__ import annotations

import json

import pytest

from judging.stats.ratings import RatingOptions, Resampling, board
from judging.stats.votes import FORMATS, Judgment, Outcome, criteria, fastchat, published, read, votes_of
from tests.judging.published_votes import judgments_path, needs_data

ASKED = RatingOptions(resampling=Resampling(resamples=50))


def again(judgments, written) -> tuple[Judgment, ...]:
    found = read("\n".join(FORMATS[written](judgments)), "x")
    assert not found.problems
    return found.judgments


def hashes(judgments) -> list[str]:
    return [board(votes_of(judgments, one), ASKED).hash for one in criteria(judgments)]


@needs_data
@pytest.mark.parametrize("written", FORMATS)
def test_the_published_judgments_give_the_same_boards(written):
    before = read(judgments_path().read_text(), "x").judgments
    assert hashes(again(before, written)) == hashes(before)


@needs_data
def test_the_published_file_is_written_as_it_was():
    text = judgments_path().read_text()
    before = [json.loads(line) for line in text.splitlines()]
    assert [json.loads(line) for line in published(read(text, "x").judgments)] == before


def test_everything_a_judgment_says_survives_in_both_formats():
    judgments = (
        Judgment("ada", "bo", "help", "3", "judge 1", (8, 4), lengths=(10, 20), categories=("law", "sport")),
        Judgment("bo", "ada", "help", "a \ud800 prompt", "judge 1", (8, 4), Outcome.TIE, order_known=False),
        Judgment("bo", "ada", "help", "007", verdict=Outcome.REFUSED),
        Judgment("bo", "ada", "help", "8", verdict=Outcome.UNPARSED),
    )
    assert again(judgments, "published") == judgments
    verdicts = [one.outcome(0.5) for one in judgments]
    there = again(judgments, "fastchat")
    assert [one.verdict for one in there] == verdicts
    assert [(one.prompt, one.annotator, one.categories, one.lengths, one.order_known) for one in there] == [
        (one.prompt, one.annotator, one.categories, one.lengths, one.order_known) for one in judgments
    ]


def test_a_vote_without_scores_goes_into_fastchats_format_alone():
    votes = (Judgment("ada", "bo", "help", "1", "eve", verdict=Outcome.BOTH_BAD),)
    assert again(votes, "fastchat") == votes
    assert json.loads(next(fastchat(votes)))["winner"] == "tie (bothbad)"
    with pytest.raises(
        ValueError, match="has a winner and no scores, which the published format cannot say; write FastChat"
    ):
        list(published(votes))


def test_one_vote_more_makes_another_hash():
    votes = [Judgment("ada", "bo", "", str(k), verdict=Outcome(k % 3)) for k in range(30)]
    assert hashes(votes) == hashes(list(votes))
    assert hashes(votes) != hashes([*votes, votes[0]])
