"""Who meets whom, on which prompt, in which order, and who stands left: decided by a seed alone. No Django.

Comparisons come in rounds. In a round every pair meets once, each on another prompt as far as there are as many, so
that wherever voting ends all pairs have been judged about as often. Within a pair the sides alternate, so that each
stands left as often, but for one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

Key = TypeVar("Key", bound=int)


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
    starts_left = [draw.random() < 0.5 for _ in pairs]
    met: list[Pairing] = []
    for turn in range(len(prompts)):
        for k in draw.sample(range(len(pairs)), len(pairs)):
            prompt = prompts[(turn + k) % len(prompts)]
            met.append(Pairing(prompt, *pairs[k], a_is_left=starts_left[k] == (turn % 2 == 0)))
    return met


def drawn(among: Sequence[Key], count: int, seed: int) -> list[Key]:
    """`count` of them, or all where there are fewer, whatever order they are given in."""
    return random.Random(f"{seed} drawn").sample(sorted(among), min(count, len(among)))
