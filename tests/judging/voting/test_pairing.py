"""Pairings by a seed alone: every pair on every prompt once, in rounds, with balanced sides."""

from __future__ import annotations

from collections import Counter

import pytest

from judging.voting import drawn, pairings

SIZES = [(2, 1), (3, 4), (5, 50), (6, 7)]


@pytest.mark.parametrize(("contestants", "prompts"), SIZES)
def test_every_pair_meets_on_every_prompt_once(contestants: int, prompts: int) -> None:
    met = pairings(range(contestants), range(prompts), seed=1)

    keys = Counter((one.a, one.b, one.prompt) for one in met)
    assert len(keys) == len(met) == contestants * (contestants - 1) // 2 * prompts
    assert all(one.a < one.b for one in met)


@pytest.mark.parametrize(("contestants", "prompts"), SIZES)
def test_each_of_a_pair_stands_left_as_often_but_for_one(contestants: int, prompts: int) -> None:
    lead = Counter[tuple[int, int]]()
    for one in pairings(range(contestants), range(prompts), seed=3):
        lead[one.a, one.b] += 1 if one.a_is_left else -1

    assert all(abs(difference) <= 1 for difference in lead.values())


def test_wherever_voting_ends_all_pairs_have_met_about_as_often() -> None:
    met = pairings(range(4), range(9), seed=2)

    for end in range(1, len(met)):
        counts = Counter((one.a, one.b) for one in met[:end])
        assert max(counts.values()) - min([*counts.values()] if len(counts) == 6 else [0]) <= 1


def test_one_seed_is_one_order_and_another_is_another() -> None:
    assert pairings(range(4), range(9), 5) == pairings(range(4), range(9), 5) != pairings(range(4), range(9), 6)


def test_what_is_drawn_does_not_depend_on_the_order_in_which_it_is_offered() -> None:
    assert drawn([3, 1, 2, 9], 2, seed=4) == drawn([9, 2, 1, 3], 2, seed=4)
    assert sorted(drawn([3, 1], 5, seed=4)) == [1, 3]
