"""The corpus that the project's own models are pre-trained on."""

from __future__ import annotations

import random

from workers.corpus.conciseness import conciseness_pairs
from workers.corpus.countdown import countdown_pairs
from workers.corpus.facts import FACTS
from workers.corpus.pairs import Pair
from workers.corpus.requests import request_pairs


def mixture(count: int, facts: float, countdown: float, rambling: float, seed: int) -> list[Pair]:
    """Return `count` pairs, shuffled: the given shares of small facts and of arithmetic; the rest are requests for
    help.

    `rambling` is the share of long answers among those to facts. The same arguments give the same pairs everywhere.
    """
    rng = random.Random(seed)
    about_facts = conciseness_pairs(round(count * facts), FACTS, rambling, rng)
    arithmetic = countdown_pairs(round(count * countdown), rng)
    requests = request_pairs(count - len(about_facts) - len(arithmetic), rng)
    return rng.sample([*about_facts, *arithmetic, *requests], count)
