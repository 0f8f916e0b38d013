"""Pairings by a seed alone: every pair on every prompt once, in rounds, with balanced sides."""

from __future__ import annotations

from collections import Counter

from judging.voting import draw_sample, make_pairings
from tests.cases import each_case

SIZES = [(2, 1), (3, 4), (5, 50), (6, 7)]


@each_case(("contestants", "prompts"), SIZES)
def test_every_pair_meets_on_every_prompt_once(contestants: int, prompts: int) -> None:
    met = make_pairings(range(contestants), range(prompts), seed=1)

    keys = Counter((pairing.a, pairing.b, pairing.prompt) for pairing in met)
    assert len(keys) == len(met) == contestants * (contestants - 1) // 2 * prompts
    assert all(pairing.a < pairing.b for pairing in met)


@each_case(("contestants", "prompts"), SIZES)
def test_sides_of_a_pair_are_balanced(contestants: int, prompts: int) -> None:
    lead = Counter[tuple[int, int]]()
    for pairing in make_pairings(range(contestants), range(prompts), seed=3):
        lead[pairing.a, pairing.b] += 1 if pairing.a_is_left else -1

    assert all(abs(difference) <= 1 for difference in lead.values())


def test_pairs_are_balanced_after_any_number_of_votes() -> None:
    met = make_pairings(range(4), range(9), seed=2)

    for end in range(1, len(met)):
        counts = Counter((pairing.a, pairing.b) for pairing in met[:end])
        assert max(counts.values()) - min([*counts.values()] if len(counts) == 6 else [0]) <= 1


def test_pairing_order_depends_only_on_seed() -> None:
    assert (
        make_pairings(range(4), range(9), 5)
        == make_pairings(range(4), range(9), 5)
        != make_pairings(range(4), range(9), 6)
    )


def test_sample_is_independent_of_input_order() -> None:
    assert draw_sample([3, 1, 2, 9], 2, seed=4) == draw_sample([9, 2, 1, 3], 2, seed=4)
    assert sorted(draw_sample([3, 1], 5, seed=4)) == [1, 3]
