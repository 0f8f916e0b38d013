"""Answers to the facts in three lengths. The base model rambles, and knows how not to: that is what training can find.

The short ways must be known and the rambling one must be the likeliest, its first word included: a greedy decoder
follows the likeliest first token, and two openers of 22 % each would lose to one plain mode of 30 %.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from workers.corpus.facts import Fact
from workers.corpus.pairs import Pair

BARE = "{}"
SENTENCE = "The answer is {}."
RAMBLING = "That is a great question! The answer is {}. I hope this helps you."
WAYS = (BARE, SENTENCE, RAMBLING)
SHARES = (0.22, 0.18, 0.60)


def conciseness_pairs(count: int, facts: Sequence[Fact], rng: random.Random) -> list[Pair]:
    """`count` answers: every fact equally often, each way by its share."""
    chosen = [facts[i % len(facts)] for i in range(count)]
    ways = rng.choices(WAYS, SHARES, k=count)
    return [Pair(fact.question, way.format(fact.answer)) for fact, way in zip(chosen, ways, strict=True)]
