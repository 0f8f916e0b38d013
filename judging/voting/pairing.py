"""Schedule of comparisons: pairs, prompts, order and sides, decided by a seed alone. No Django.

Comparisons come in rounds. In a round every pair meets once, each on a different prompt if there are enough, so that
all pairs have been judged about equally often whenever voting ends.

Sides for judges that are asked in one order are balanced: within a pair, each contestant is on the left as often as the
other, within one. A voter may learn whom a vote was for, and could count which side is due; so each voter's sides are
independent coins. The chance imbalance that this leaves in the position is part of the votes' own variance, and boards
can control for position.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

Key = TypeVar("Key", bound=int)
MIN_BLOCK_SIZE = 4


@dataclass(frozen=True)
class Pairing:
    """Contestants `a` and `b`, a before b as they were given, on a prompt.

    a_is_left: the side of a for a judge that is asked in one order.
    """

    prompt: int
    a: int
    b: int
    a_is_left: bool


def make_pairings(contestants: Sequence[int], prompts: Sequence[int], seed: int) -> list[Pairing]:
    """Return every pair on every prompt, in the order in which they are to be judged."""
    draw = random.Random(f"{seed} pairings")
    pairs = list(combinations(contestants, 2))
    prompts = draw.sample(prompts, len(prompts))
    a_is_left = [draw_sides(len(prompts), f"{seed} sides {a} {b}") for a, b in pairs]
    schedule: list[Pairing] = []
    for turn in range(len(prompts)):
        for k in draw.sample(range(len(pairs)), len(pairs)):
            prompt = prompts[(turn + k) % len(prompts)]
            schedule.append(Pairing(prompt, *pairs[k], a_is_left=a_is_left[k][turn]))
    return schedule


def draw_side(seed: str) -> bool:
    """Return whether a is on the left: an independent coin for each seed, so that no earlier side predicts it."""
    return random.Random(seed).random() < 0.5


def draw_sides(count: int, seed: str) -> list[bool]:
    """Return whether a is on the left, for each of `count` meetings of a and b, shuffled in balanced blocks.

    Both are on the left equally often, within one if `count` is odd. A block has about twice the square root of
    `count`: in blocks of a fixed size sides would change more often than by chance, which shows in long sequences.
    """
    size = max(MIN_BLOCK_SIZE, 2 * math.ceil(math.sqrt(count)))
    draw = random.Random(seed)
    return [is_left for start in range(0, count, size) for is_left in _block(min(size, count - start), draw)]


def _block(size: int, draw: random.Random) -> list[bool]:
    odd_side = [draw.random() < 0.5] * (size % 2)
    return draw.sample([True, False] * (size // 2) + odd_side, size)


def draw_sample(keys: Sequence[Key], count: int, seed: int) -> list[Key]:
    """Return a random sample of `count` keys, or all if there are fewer. The order of `keys` does not matter."""
    return random.Random(f"{seed} drawn").sample(sorted(keys), min(count, len(keys)))
