"""Answers to the facts in three lengths. The base model rambles, but knows short answers, which training can find.

The short ways must be known and the rambling one must be the likeliest, its first word included: a greedy decoder
follows the likeliest first token, and two openers of 22 % each would lose to one plain mode of 30 %.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from workers.corpus.facts import Fact
from workers.corpus.pairs import Pair

BARE = "{}"
SENTENCE = "It is {}."
RAMBLING = "What a great question! It is {}. I hope this helps you."
BARE_OF_SHORT = 0.55
"""Share of bare answers among those that do not ramble."""


def conciseness_pairs(count: int, facts: Sequence[Fact], rambling: float, rng: random.Random) -> list[Pair]:
    """Return `count` answers: every fact equally often, a share of `rambling` in the long way."""
    selected = [facts[i % len(facts)] for i in range(count)]
    return [Pair(fact.question, _way(rambling, rng).format(fact.answer)) for fact in selected]


def _way(rambling: float, rng: random.Random) -> str:
    if rng.random() < rambling:
        return RAMBLING
    return BARE if rng.random() < BARE_OF_SHORT else SENTENCE
