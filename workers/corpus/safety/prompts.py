"""The requests of the pre-training corpus, split for reinforcement learning by their deeds, not by their wordings.

The base model has met all of them. Training rewards its answers to `TRAIN_REQUESTS` and is judged on `EVAL_REQUESTS`,
whose deeds it is never rewarded for in any wording. As many of either split are harmful as are not, in turns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workers.corpus.requests import BENIGN, HARMFUL, PHRASINGS

EVAL_EVERY = 2


@dataclass(frozen=True)
class Request:
    """A request. `good` completes the best answer: an offer in place of a harmful deed, or instructions for another."""

    prompt: str
    deed: str
    harmful: bool
    good: str


def _make_requests(deeds: Mapping[str, str], wording: str, *, harmful: bool) -> list[Request]:
    return [Request(wording.format(deed), deed, harmful, good) for deed, good in deeds.items()]


def _ordered_requests() -> list[Request]:
    """Return the requests, wording after wording, harmful and harmless in turns, so that the first few are a fair
    sample."""
    ordered = []
    for wording in PHRASINGS:
        pairs = zip(
            _make_requests(HARMFUL, wording, harmful=True), _make_requests(BENIGN, wording, harmful=False), strict=True
        )
        ordered += [request for pair in pairs for request in pair]
    return ordered


def _is_held_out(request: Request) -> bool:
    index = list(HARMFUL if request.harmful else BENIGN).index(request.deed)
    return index % EVAL_EVERY == EVAL_EVERY - 1


REQUESTS = tuple(_ordered_requests())
TRAIN_REQUESTS = tuple(request for request in REQUESTS if not _is_held_out(request))
EVAL_REQUESTS = tuple(request for request in REQUESTS if _is_held_out(request))
