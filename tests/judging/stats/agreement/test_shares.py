"""Shares of votes: for the longer answer, of consistent pairs in both orders, of ties for each pair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judging.stats.agreement import find_swaps, longer_share, pair_tie_rates, swap_consistency
from judging.stats.votes import Outcome
from tests.judging.published_votes import needs_data, published_votes
from tests.judging.synthetic_votes import make_game_votes, make_random_votes

A, B, TIE, BAD, ERROR = Outcome.A, Outcome.B, Outcome.TIE, Outcome.BOTH_BAD, Outcome.ERROR


def test_longer_share_uses_decided_votes_of_unequal_length():
    ballots = make_game_votes(("x", "y"), (0, 1, A), (0, 1, B), (1, 0, A), (0, 1, A), (0, 1, TIE), (0, 1, A))
    share = longer_share(replace(ballots, features={"length": np.array([0.5, -0.2, -0.1, 0.0, 0.9, np.nan])}))
    assert share.value == pytest.approx(2 / 3)
    assert share.low is not None and share.low < share.value


def test_longer_share_is_undefined_without_lengths():
    share = longer_share(make_game_votes(("x", "y"), (0, 1, A)))
    assert (share.value, share.why) == (None, "n/a: no decided vote is on answers of known, unequal length")


def test_consistency_equals_that_of_swap_table():
    ballots = make_random_votes(size=800, contestants=3, prompts=20, annotators=2)
    share = swap_consistency(ballots)
    assert share.value == pytest.approx(find_swaps(ballots).consistent)
    assert share.low < share.value < share.high


@needs_data
def test_pairs_that_were_judged_once_have_no_consistency():
    share = swap_consistency(published_votes("helpfulness"))
    assert (share.value, share.why) == (None, "n/a: no pair was judged both ways round")


def test_tie_rates_count_ties_and_both_bad_per_pair():
    ballots = make_game_votes(
        ("x", "y", "z"), (0, 1, A), (1, 0, TIE), (0, 1, BAD), (0, 1, B), (2, 1, BAD), (0, 1, ERROR)
    )
    xy, yz = pair_tie_rates(ballots)
    assert (xy.one, xy.other, xy.votes, xy.tied.value, xy.both_bad.value) == (0, 1, 4, 0.5, 0.25)
    assert (yz.one, yz.other, yz.votes, yz.tied.value, yz.both_bad.value) == (1, 2, 1, 1, 1)
    assert yz.tied.low is None
