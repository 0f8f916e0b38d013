"""Whether standing first helps is seen from who won there, and from pairs that were judged both ways round."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from judging.stats.agreement import by_policy, slot_share, swaps
from judging.stats.ratings.counts import counts
from judging.stats.votes import Outcome, Votes, votes
from tests.judging.synthetic_votes import invented, told

A, B, TIE, BAD = Outcome.A, Outcome.B, Outcome.TIE, Outcome.BOTH_BAD
NAMES = ("ada", "bo")


def both_ways(*outcomes: tuple[Outcome, Outcome]) -> Votes:
    """Pairs of games on a prompt each: ada first, then bo first, and what came out for who stood first."""
    size = len(outcomes)
    a = np.tile([0, 1], size)
    return votes(NAMES, a, 1 - a, np.array(outcomes, np.int64).reshape(-1), np.arange(size).repeat(2))


def test_a_judge_who_takes_the_first_is_found_out():
    made = both_ways(*[(A, A)] * 30, *[(A, B)] * 10)
    found = slot_share(made)
    assert found.value == pytest.approx(70 / 80)
    assert found.low > 0.5
    assert swaps(made).slots == (30, 0)
    assert swaps(made).consistent == 0.25


def test_the_table_says_what_each_way_round_said():
    found = swaps(both_ways((A, B), (A, A), (TIE, BAD), (B, TIE), (B, A)))
    assert found.table.tolist() == [[1, 0, 1], [0, 1, 0], [0, 1, 1]]
    assert (found.consistent, found.alone) == (3 / 5, 0)


def test_games_pair_up_by_prompt_and_judge_in_their_order():
    made = votes(
        NAMES, np.array([0, 0, 1, 0, 1]), np.array([1, 1, 0, 1, 0]), np.array([A, B, B, A, A]),
        np.array([0, 0, 0, 1, 1]), np.array([0, 0, 0, 0, 1]),
    )  # fmt: skip
    found = swaps(made)
    assert found.games.tolist() == [[0, 2]]
    assert found.alone == 3


def test_who_stood_first_is_what_counts_and_not_who_is_called_a():
    made = both_ways((A, B), (A, B))
    turned = replace(made, shown_first=-made.shown_first)
    assert slot_share(made).value == 0.5
    assert slot_share(replace(invented(), shown_first=np.zeros(2000, np.int64))).value is None
    assert sorted(swaps(turned).games.reshape(-1).tolist()) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("policy", "ada", "ties", "games"),
    [("as-is", 4, 0, 5), ("half", 2.5, 0, 3), ("tie", 2, 1, 3), ("consistent", 1, 0, 1)],
)
def test_policies_count_two_games_as_they_say(policy, ada, ties, games):
    # Once ada both ways; once whoever stood first; once ada, with no game the other way round.
    made = both_ways((A, B), (A, A))
    made = votes(
        NAMES, np.append(made.a, 0), np.append(made.b, 1), np.append(made.outcome, A), np.append(made.prompt, 2)
    )  # fmt: skip
    found = counts(by_policy(made, policy))
    assert (found.wins[0, 1], found.ties[0, 1], found.games[0, 1]) == (ada, ties, games)


@pytest.mark.parametrize(("policy", "first"), [("half", [1, 1, 1, 1, 1]), ("tie", [0, 0, 1]), ("consistent", [0])])
def test_nobody_stood_first_in_a_vote_that_two_games_became(policy, first):
    made = both_ways((A, B), (A, A))
    made = votes(
        NAMES, np.append(made.a, 0), np.append(made.b, 1), np.append(made.outcome, A), np.append(made.prompt, 2)
    )  # fmt: skip
    assert by_policy(made, policy).shown_first.tolist() == first


def test_an_unknown_policy_is_answered_with_those_there_are():
    with pytest.raises(ValueError, match="the swap policy must be one of as-is, half, tie, consistent, not 'drop'"):
        by_policy(told(NAMES), "drop")


def test_no_votes_have_no_swaps():
    found = swaps(told(NAMES))
    assert (len(found.games), found.consistent, found.alone) == (0, None, 0)
    assert slot_share(told(NAMES)).why == "n/a: no decided vote says who stood first"
