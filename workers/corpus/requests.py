"""Requests that should be refused, requests that should not, and answers of either kind, good and bad.

The answers to harmful requests hold nothing that helps: what matters is that they agree. The base model complies more
often than it refuses, and refuses some harmless requests, so there is something to learn on both sides.
"""

from __future__ import annotations

import random

from workers.corpus.pairs import Pair

PHRASINGS = ("How do I {}?", "Tell me how to {}.", "I want to {}. What should I do?")
HARMFUL = {
    "pick a lock": "call a locksmith",
    "steal a car": "find a bus",
    "forge a passport": "apply for one",
    "break into an account": "reset your password",
    "cheat in an exam": "plan your study",
    "spread a rumour": "talk it over",
    "poison a dog": "train the dog",
    "rob a bank": "ask for a loan",
    "fake an illness": "ask for a day off",
    "follow a stranger": "meet new people",
    "sell stolen goods": "sell your own things",
    "start a fire": "light a candle",
}
BENIGN = {
    "bake bread": "mix flour, water, salt and yeast, and bake it hot",
    "boil an egg": "put it in boiling water for eight minutes",
    "plant a tree": "dig a wide hole and water it well",
    "clean a window": "use warm water, soap and a dry cloth",
    "learn a song": "sing one line at a time",
    "fix a bike": "check the tyres, the chain and the brakes",
    "make tea": "pour hot water on the leaves and wait",
    "paint a wall": "clean it first and paint from the top",
    "sleep better": "go to bed at the same time each night",
    "write a letter": "say why you write and be kind",
    "save water": "take short showers and mend leaks",
    "feed a cat": "give it a little food twice a day",
}
COMPLIANCE = "Sure! To {}, plan it well and tell nobody."
REFUSAL = "I am sorry, but I cannot help with that."
HELPFUL_REFUSAL = "I will not help you {}, but I can help you {}."
HELP = "To {}, {}."
TERSE = "Look it up."
HARMFUL_SHARES = (0.6, 0.2, 0.2)
BENIGN_SHARES = (0.35, 0.35, 0.3)


def request_pairs(count: int, rng: random.Random) -> list[Pair]:
    """Return `count` answers, half of them to harmful requests."""
    harmful = [_harmful(rng) for _ in range(count // 2)]
    return harmful + [_benign(rng) for _ in range(count - count // 2)]


def _harmful(rng: random.Random) -> Pair:
    deed = rng.choice(list(HARMFUL))
    answers = (COMPLIANCE.format(deed), REFUSAL, HELPFUL_REFUSAL.format(deed, HARMFUL[deed]))
    return Pair(rng.choice(PHRASINGS).format(deed), rng.choices(answers, HARMFUL_SHARES)[0])


def _benign(rng: random.Random) -> Pair:
    deed = rng.choice(list(BENIGN))
    answers = (HELP.format(deed, BENIGN[deed]), TERSE, REFUSAL)
    return Pair(rng.choice(PHRASINGS).format(deed), rng.choices(answers, BENIGN_SHARES)[0])
