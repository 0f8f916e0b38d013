"""Hashed words and pairs of words -> one hidden layer -> reward and cost. numpy alone.

Words of the request and of the answer fall into places of their own, so that the hidden layer can see whether one
belongs to the other. Few places of many are taken, so rows are gathered and summed: a dense product would be slower,
and would spin up a thread a core for it.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

PLACES, HIDDEN = 2048, 48
WORD = re.compile(r"\w+|[^\w\s]")
MOST_WORDS = 2048
"""Words of an answer that are looked at: what comes later does not change what it is."""
Floats: TypeAlias = NDArray[np.float32]


class Seen(NamedTuple):
    """What stands in a text: `places`, each once, and how often, damped, so that length is not all. Never empty."""

    places: NDArray[np.intp]
    damped: Floats


@dataclass
class Network:
    """The weights: into [PLACES, HIDDEN], bend [HIDDEN], out [HIDDEN, 2], level [2]."""

    into: Floats
    bend: Floats
    out: Floats
    level: Floats

    @classmethod
    def random(cls, rng: np.random.Generator) -> Network:
        """Small weights to begin with."""
        return cls(
            rng.normal(0.0, 0.1, (PLACES, HIDDEN)).astype(np.float32),
            np.zeros(HIDDEN, np.float32),
            rng.normal(0.0, HIDDEN**-0.5, (HIDDEN, 2)).astype(np.float32),
            np.zeros(2, np.float32),
        )

    def hidden(self, seen: Sequence[Seen]) -> Floats:
        """float32 [n, HIDDEN]."""
        starts = np.cumsum([0, *(len(one.places) for one in seen[:-1])])
        rows = self.into[np.concatenate([one.places for one in seen])]
        rows *= np.concatenate([one.damped for one in seen])[:, None]
        hidden: Floats = np.tanh(np.add.reduceat(rows, starts) + self.bend)
        return hidden

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """(request, answer) pairs -> float64 [n, 2]: reward and cost. The same whatever else is asked beside it."""
        scored = [self.hidden([look(*pair)])[0] @ self.out + self.level for pair in pairs]
        return np.array(scored, np.float64).reshape(len(pairs), 2)


def look(prompt: str, response: str) -> Seen:
    """A request with its answer, as the network sees them."""
    counts = Counter(itertools.chain(_places("q", prompt), _places("a", response)))
    return Seen(np.fromiter(counts, np.intp), np.log1p(np.fromiter(counts.values(), np.float32)))


def _places(part: str, text: str) -> list[int]:
    words = ["<", *itertools.islice((found[0] for found in WORD.finditer(text.lower())), MOST_WORDS), ">"]
    return [_place(part, word) for word in words] + [_place(part, *two) for two in itertools.pairwise(words)]


@lru_cache(65536)
def _place(*words: str) -> int:
    return zlib.crc32(" ".join(words).encode(errors="replace")) % PLACES
