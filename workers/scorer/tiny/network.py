"""Hashed words and pairs of words -> one hidden layer -> reward and cost. numpy alone.

Words of the request and of the answer fall into buckets of their own, so that the hidden layer can see whether one
belongs to the other. Few buckets of many are used, so rows are gathered and summed: a dense product would be slower,
and would start a thread per core.
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

BUCKETS, HIDDEN = 2048, 48
WORD = re.compile(r"\w+|[^\w\s]")
MAX_WORDS = 2048
"""The words of an answer that are used: later ones do not change its nature."""
Floats: TypeAlias = NDArray[np.float32]


class EncodedText(NamedTuple):
    """The words of a text: `buckets`, each once, and their damped counts, so that length is not all. Never empty."""

    buckets: NDArray[np.intp]
    weights: Floats


@dataclass
class Network:
    """The weights: into [BUCKETS, HIDDEN], bend [HIDDEN], out [HIDDEN, 2], level [2]."""

    into: Floats
    bend: Floats
    out: Floats
    level: Floats

    @classmethod
    def random(cls, rng: np.random.Generator) -> Network:
        """Return small random weights."""
        return cls(
            rng.normal(0.0, 0.1, (BUCKETS, HIDDEN)).astype(np.float32),
            np.zeros(HIDDEN, np.float32),
            rng.normal(0.0, HIDDEN**-0.5, (HIDDEN, 2)).astype(np.float32),
            np.zeros(2, np.float32),
        )

    def hidden(self, texts: Sequence[EncodedText]) -> Floats:
        """Return float32 [n, HIDDEN]."""
        starts = np.cumsum([0, *(len(text.buckets) for text in texts[:-1])])
        rows = self.into[np.concatenate([text.buckets for text in texts])]
        rows *= np.concatenate([text.weights for text in texts])[:, None]
        hidden: Floats = np.tanh(np.add.reduceat(rows, starts) + self.bend)
        return hidden

    def scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Score (request, answer) pairs -> float64 [n, 2]: reward and cost. The result does not depend on the other
        pairs."""
        scored = [self.hidden([encode(*pair)])[0] @ self.out + self.level for pair in pairs]
        return np.array(scored, np.float64).reshape(len(pairs), 2)


def encode(prompt: str, response: str) -> EncodedText:
    """Encode a request with its answer for the network."""
    counts = Counter(itertools.chain(_buckets("q", prompt), _buckets("a", response)))
    return EncodedText(np.fromiter(counts, np.intp), np.log1p(np.fromiter(counts.values(), np.float32)))


def _buckets(part: str, text: str) -> list[int]:
    words = ["<", *itertools.islice((match[0] for match in WORD.finditer(text.lower())), MAX_WORDS), ">"]
    return [_bucket(part, word) for word in words] + [_bucket(part, *two) for two in itertools.pairwise(words)]


@lru_cache(65536)
def _bucket(*words: str) -> int:
    return zlib.crc32(" ".join(words).encode(errors="replace")) % BUCKETS
