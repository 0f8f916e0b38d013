"""Shares of votes: of the longer answer, of pairs judged alike both ways round, of ties between every two."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judging.stats.agreement import consistency, longer_share, swaps, tie_rates
from judging.stats.votes import Outcome
from tests.judging.published_votes import needs_data, published_votes
from tests.judging.synthetic_votes import invented, told

A, B, TIE, BAD, ERROR = Outcome.A, Outcome.B, Outcome.TIE, Outcome.BOTH_BAD, Outcome.ERROR


def test_the_longer_answers_share_is_of_decided_votes_of_unequal_length():
    made = told(("x", "y"), (0, 1, A), (0, 1, B), (1, 0, A), (0, 1, A), (0, 1, TIE), (0, 1, A))
    found = longer_share(replace(made, features={"length": np.array([0.5, -0.2, -0.1, 0.0, 0.9, np.nan])}))
    assert found.value == pytest.approx(2 / 3)
    assert found.low is not None and found.low < found.value


def test_where_no_length_is_known_there_is_no_share():
    found = longer_share(told(("x", "y"), (0, 1, A)))
    assert (found.value, found.why) == (None, "n/a: no decided vote is on answers of known, unequal length")


def test_consistency_is_the_share_that_the_table_of_swaps_holds():
    made = invented(size=800, contestants=3, prompts=20, annotators=2)
    found = consistency(made)
    assert found.value == pytest.approx(swaps(made).consistent)
    assert found.low < found.value < found.high


@needs_data
def test_pairs_that_were_judged_once_have_no_consistency():
    found = consistency(published_votes("helpfulness"))
    assert (found.value, found.why) == (None, "n/a: no pair was judged both ways round")


def test_ties_of_every_two_that_met_and_what_of_them_is_both_bad():
    made = told(("x", "y", "z"), (0, 1, A), (1, 0, TIE), (0, 1, BAD), (0, 1, B), (2, 1, BAD), (0, 1, ERROR))
    xy, yz = tie_rates(made)
    assert (xy.one, xy.other, xy.votes, xy.tied.value, xy.both_bad.value) == (0, 1, 4, 0.5, 0.25)
    assert (yz.one, yz.other, yz.votes, yz.tied.value, yz.both_bad.value) == (1, 2, 1, 1, 1)
    assert yz.tied.low is None
