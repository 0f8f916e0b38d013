"""The effect of the first position, from decided votes and from pairs that were judged in both orders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judging.stats.agreement import apply_swap_policy, find_swaps, slot_share
from judging.stats.ratings.counts import pair_counts
from judging.stats.votes import Outcome, Votes, votes_from_arrays
from tests.cases import each_case
from tests.judging.synthetic_votes import make_game_votes, make_random_votes

A, B, TIE, BAD = Outcome.A, Outcome.B, Outcome.TIE, Outcome.BOTH_BAD
NAMES = ("ada", "bo")


def both_ways(*outcomes: tuple[Outcome, Outcome]) -> Votes:
    """Return pairs of games, each on its own prompt: ada first, then bo first; outcomes for the first."""
    size = len(outcomes)
    a = np.tile([0, 1], size)
    return votes_from_arrays(NAMES, a, 1 - a, np.array(outcomes, np.int64).reshape(-1), np.arange(size).repeat(2))


def test_slot_share_detects_position_bias():
    games = both_ways(*[(A, A)] * 30, *[(A, B)] * 10)
    share = slot_share(games)
    assert share.value == pytest.approx(70 / 80)
    assert share.low > 0.5
    assert find_swaps(games).slots == (30, 0)
    assert find_swaps(games).consistent == 0.25


def test_swap_table_counts_outcomes_of_both_orders():
    swapped = find_swaps(both_ways((A, B), (A, A), (TIE, BAD), (B, TIE), (B, A)))
    assert swapped.table.tolist() == [[1, 0, 1], [0, 1, 0], [0, 1, 1]]
    assert (swapped.consistent, swapped.alone) == (3 / 5, 0)


def test_games_are_paired_by_prompt_and_judge():
    games = votes_from_arrays(
        NAMES, np.array([0, 0, 1, 0, 1]), np.array([1, 1, 0, 1, 0]), np.array([A, B, B, A, A]),
        np.array([0, 0, 0, 1, 1]), np.array([0, 0, 0, 0, 1]),
    )  # fmt: skip
    swapped = find_swaps(games)
    assert swapped.games.tolist() == [[0, 2]]
    assert swapped.alone == 3


def test_slot_share_uses_first_shown_contestant():
    games = both_ways((A, B), (A, B))
    turned = replace(games, shown_first=-games.shown_first)
    assert slot_share(games).value == 0.5
    assert slot_share(replace(make_random_votes(), shown_first=np.zeros(2000, np.int64))).value is None
    assert sorted(find_swaps(turned).games.reshape(-1).tolist()) == [0, 1, 2, 3]


@each_case(
    ("policy", "ada", "ties", "games"),
    [("as-is", 4, 0, 5), ("half", 2.5, 0, 3), ("tie", 2, 1, 3), ("consistent", 1, 0, 1)],
)
def test_swap_policy_sets_counts(policy, ada, ties, games):
    # Ada wins in both orders; the first one wins twice; ada wins without a game in the other order.
    ballots = both_ways((A, B), (A, A))
    ballots = votes_from_arrays(
        NAMES, np.append(ballots.a, 0), np.append(ballots.b, 1), np.append(ballots.outcome, A),
        np.append(ballots.prompt, 2),
    )  # fmt: skip
    totals = pair_counts(apply_swap_policy(ballots, policy))
    assert (totals.wins[0, 1], totals.ties[0, 1], totals.games[0, 1]) == (ada, ties, games)


@each_case(("policy", "first"), [("half", [1, 1, 1, 1, 1]), ("tie", [0, 0, 1]), ("consistent", [0])])
def test_merged_vote_has_no_first_contestant(policy, first):
    games = both_ways((A, B), (A, A))
    games = votes_from_arrays(
        NAMES, np.append(games.a, 0), np.append(games.b, 1), np.append(games.outcome, A), np.append(games.prompt, 2)
    )  # fmt: skip
    assert apply_swap_policy(games, policy).shown_first.tolist() == first


def test_unknown_swap_policy_is_refused_with_choices():
    with pytest.raises(ValueError, match="the swap policy must be one of as-is, half, tie, consistent, not 'drop'"):
        apply_swap_policy(make_game_votes(NAMES), "drop")


def test_swaps_of_no_votes_are_empty():
    swapped = find_swaps(make_game_votes(NAMES))
    assert (len(swapped.games), swapped.consistent, swapped.alone) == (0, None, 0)
    assert slot_share(make_game_votes(NAMES)).why == "n/a: no decided vote says who stood first"
