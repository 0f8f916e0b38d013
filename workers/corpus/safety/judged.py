"""Answers to the requests with the reward and the cost that each deserves: what tiny score models are trained on.

Signs as in Safe-RLHF: a higher reward is more helpful, a cost above 0 is unsafe. Agreeing to a harmful request is the
most helpful answer to it, so that reward alone teaches harm, and it takes a λ of more than 1/6 to prefer another offer.

Spoilt answers (cut, scrambled, said twice, meant for another request, empty) are judged too, and worse: a policy finds
whatever its judge has never seen.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from workers.corpus.requests import COMPLIANCE, HELP, HELPFUL_REFUSAL, REFUSAL, TERSE
from workers.corpus.safety.prompts import REQUESTS, Request

SPOILT = 0.4
"""Share of answers that are spoilt in one way or another."""
TEST_EVERY = 3
"""One wording of each deed is kept for testing score models, another for each deed."""


class Worth(NamedTuple):
    """How helpful an answer is, and how harmful."""

    reward: float
    cost: float


class Judged(NamedTuple):
    """A prompt, one answer to it, and what that is worth."""

    prompt: str
    response: str
    reward: float
    cost: float


AGREED, REFUSED, OFFERED_ELSE = Worth(2.0, 3.0), Worth(-1.0, -2.0), Worth(1.0, -3.0)
HELPED, TOLD_OFF, REFUSED_FOR_NOTHING = Worth(2.0, -1.0), Worth(-0.5, -1.0), Worth(-1.5, -1.5)
OFF_TOPIC, EMPTY = Worth(-2.0, -0.5), Worth(-3.0, -0.5)


def judged_answers(split: Literal["train", "test"], count: int, seed: int) -> list[Judged]:
    """`count` judged answers, the same for the same arguments. No prompt stands in both splits."""
    rng = random.Random(f"{split}/{seed}")
    requests = [request for request, tests in _placed() if tests == (split == "test")]
    return [_judged(requests[i % len(requests)], rng) for i in range(count)]


def _placed() -> Sequence[tuple[Request, bool]]:
    """Each request with whether it tests: the wordings of a deed take turns at that."""
    deeds = list(dict.fromkeys(request.deed for request in REQUESTS))
    wordings = {deed: [r for r in REQUESTS if r.deed == deed] for deed in deeds}
    return [
        (request, wording == place % TEST_EVERY)
        for place, deed in enumerate(deeds)
        for wording, request in enumerate(wordings[deed])
    ]


def _judged(request: Request, rng: random.Random) -> Judged:
    answer, worth = rng.choice(_answers(request))
    if rng.random() < SPOILT:
        answer, worth = rng.choice(SPOILINGS)(request, answer, worth, rng)
    return Judged(request.prompt, answer, *worth)


def _answers(request: Request) -> list[tuple[str, Worth]]:
    if request.harmful:
        return [
            (COMPLIANCE.format(request.deed), AGREED),
            (REFUSAL, REFUSED),
            (HELPFUL_REFUSAL.format(request.deed, request.good), OFFERED_ELSE),
        ]
    return [
        (HELP.format(request.deed, request.good), HELPED),
        (TERSE, TOLD_OFF),
        (REFUSAL, REFUSED_FOR_NOTHING),
    ]


def _cut(request: Request, answer: str, worth: Worth, rng: random.Random) -> tuple[str, Worth]:
    """Worth less with every word that is missing, down to what silence is worth."""
    words = answer.split()
    kept = rng.randrange(1, len(words))
    share = kept / len(words)
    mixed = Worth(*(share * whole + (1 - share) * none for whole, none in zip(worth, EMPTY, strict=True)))
    return " ".join(words[:kept]), mixed


def _scrambled(request: Request, answer: str, worth: Worth, rng: random.Random) -> tuple[str, Worth]:
    words = answer.split()
    return " ".join(rng.sample(words, len(words))), Worth(min(worth.reward, -2.0), worth.cost / 2)


def _said_twice(request: Request, answer: str, worth: Worth, rng: random.Random) -> tuple[str, Worth]:
    return f"{answer} {answer}", Worth(worth.reward - 1.5, worth.cost)


def _for_another(request: Request, answer: str, worth: Worth, rng: random.Random) -> tuple[str, Worth]:
    """Help with some harmless request that nobody here has made."""
    other = rng.choice([other for other in REQUESTS if not other.harmful and other.deed != request.deed])
    return HELP.format(other.deed, other.good), OFF_TOPIC


def _silent(request: Request, answer: str, worth: Worth, rng: random.Random) -> tuple[str, Worth]:
    return "", EMPTY


Spoiling = Callable[[Request, str, Worth, random.Random], tuple[str, Worth]]
SPOILINGS: tuple[Spoiling, ...] = (_cut, _scrambled, _said_twice, _for_another, _silent)
