"""Who meets whom, on which prompt, in which order, and who stands left: decided by a seed alone. No Django.

Comparisons come in rounds. In a round every pair meets once, each on another prompt as far as there are as many, so
that wherever voting ends all pairs have been judged about as often. Within a pair each contestant stands left as
often as the other, but for one, in an order that nobody can guess: it is shuffled in blocks.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

Key = TypeVar("Key", bound=int)
LEAST_BLOCK = 4


@dataclass(frozen=True)
class Pairing:
    """Contestants `a` and `b`, a before b as they were given, on a prompt; `a_is_left` for the first voter."""

    prompt: int
    a: int
    b: int
    a_is_left: bool


def pairings(contestants: Sequence[int], prompts: Sequence[int], seed: int) -> list[Pairing]:
    """Every pair on every prompt, in the order in which they are to be judged."""
    draw = random.Random(f"{seed} pairings")
    pairs = list(combinations(contestants, 2))
    prompts = draw.sample(prompts, len(prompts))
    a_is_left = [sides(len(prompts), f"{seed} sides {a} {b}") for a, b in pairs]
    met: list[Pairing] = []
    for turn in range(len(prompts)):
        for k in draw.sample(range(len(pairs)), len(pairs)):
            prompt = prompts[(turn + k) % len(prompts)]
            met.append(Pairing(prompt, *pairs[k], a_is_left=a_is_left[k][turn]))
    return met


def sides(count: int, seed: str) -> list[bool]:
    """Return whether a stands left, for each of `count` meetings of a and b: shuffled in balanced blocks.

    Both stand left as often, but for one where `count` is odd. A block has about twice the square root of `count`:
    in blocks of a fixed size sides would change more often than by chance, which shows in long sequences.
    """
    size = max(LEAST_BLOCK, 2 * math.ceil(math.sqrt(count)))
    draw = random.Random(seed)
    return [is_left for start in range(0, count, size) for is_left in _block(min(size, count - start), draw)]


def _block(size: int, draw: random.Random) -> list[bool]:
    odd_one = [draw.random() < 0.5] * (size % 2)
    return draw.sample([True, False] * (size // 2) + odd_one, size)


def drawn(among: Sequence[Key], count: int, seed: int) -> list[Key]:
    """`count` of them, or all where there are fewer, whatever order they are given in."""
    return random.Random(f"{seed} drawn").sample(sorted(among), min(count, len(among)))
