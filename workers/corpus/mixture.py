"""The corpus that the project's own models are pre-trained on."""

from __future__ import annotations

import random

from workers.corpus.conciseness import conciseness_pairs
from workers.corpus.facts import FACTS
from workers.corpus.pairs import Pair


def mixture(count: int, conciseness: float, countdown: float, seed: int) -> list[Pair]:
    """`count` pairs, shuffled: the given shares of small facts and of arithmetic; the rest are requests for help."""
    rng = random.Random(seed)
    facts = round(count * conciseness)
    pairs = conciseness_pairs(facts, FACTS, rng)
    rng.shuffle(pairs)
    return pairs
