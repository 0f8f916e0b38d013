"""Which answers are nearly the same: MinHash signatures of three-word shingles, in bands (Broder 1997; Leskovec,
Rajaraman and Ullman, Mining of Massive Datasets, chapter 3). Nearly: an estimated Jaccard similarity of 0.8 and above.

Its 128 hashes of all shingles are numpy's: several times as quick as a loop over documents.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Signatures: TypeAlias = NDArray[np.uint64]
Words: TypeAlias = tuple[str, ...]

SHINGLE_WORDS = 3
HASHES = 128
BANDS = 16
"""Of eight hashes each: a pair of similarity 0.8 meets in one with a chance of 95 %, and one of 0.5 with 6 %."""
SIMILAR = 0.8
COMPARED = 256
"""Texts of a band's bucket that are compared with all others in it: what thousands of texts with the same beginning
take stays linear. Others that are alike meet in other bands."""
AT_ONCE = 2**15
"""Shingles whose hashes are held at a time: 32 MB."""


def clusters(texts: Sequence[Words]) -> list[list[int]]:
    """Places of texts (each its words) that are nearly the same, the largest cluster first; one alone is one too."""
    places: dict[Words, list[int]] = defaultdict(list)
    for i, words in enumerate(texts):
        places[words].append(i)
    different = list(places)
    parent = list(range(len(different)))
    for one, others in _pairs(signatures(different)):
        for other in others:
            parent[_root(parent, other)] = _root(parent, one)
    found: dict[int, list[int]] = defaultdict(list)
    for i, words in enumerate(different):
        found[_root(parent, i)] += places[words]
    return sorted((sorted(members) for members in found.values()), key=lambda members: (-len(members), members[0]))


def effective_number(sizes: Sequence[int]) -> float:
    """How many clusters of equal size would be as uneven: exp of the entropy of their shares, 1 to len(sizes)."""
    shares = np.asarray(sizes, np.float64) / sum(sizes)
    return float(np.exp(-(shares * np.log(shares)).sum()))


def signatures(texts: Sequence[Words]) -> Signatures:
    """uint64[texts, HASHES]: the least value of each hash over a text's shingles."""
    shingled = [_shingles(words) for words in texts]
    out = np.empty((len(texts), HASHES), np.uint64)
    draw = np.random.default_rng(0)
    factors = draw.integers(0, 2**63, HASHES, np.uint64) * np.uint64(2) + np.uint64(1)
    offsets = draw.integers(0, 2**63, HASHES, np.uint64)
    for start, end in _blocks([len(shingles) for shingles in shingled]):
        part = shingled[start:end]
        starts = np.cumsum([0, *(len(shingles) for shingles in part[:-1])])
        # Multiply-shift (Dietzfelbinger et al. 1997): 2-universal in the upper half of the product.
        hashed = (np.concatenate(part)[:, None] * factors + offsets) >> np.uint64(32)
        out[start:end] = np.minimum.reduceat(hashed, starts, axis=0)
    return out


def _shingles(words: Words) -> Signatures:
    """uint64[n], the different shingles; a text of fewer words is a single one."""
    last = max(1, len(words) - SHINGLE_WORDS + 1)
    said = {" ".join(words[i : i + SHINGLE_WORDS]) for i in range(last)}
    return np.fromiter((crc32(one.encode("utf-8", "replace")) for one in said), np.uint64, len(said))


def _blocks(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """(first, last + 1) of the texts whose shingles are hashed together."""
    start, held = 0, 0
    for i, size in enumerate(sizes):
        if held and held + size > AT_ONCE:
            yield start, i
            start, held = i, 0
        held += size
    if sizes:
        yield start, len(sizes)


def _pairs(found: Signatures) -> Iterator[tuple[int, list[int]]]:
    """(one, those that are nearly the same), of those that meet in a band."""
    for band in np.split(found, BANDS, axis=1):
        buckets: dict[bytes, list[int]] = defaultdict(list)
        for i, rows in enumerate(np.ascontiguousarray(band)):
            buckets[rows.tobytes()].append(i)
        for met in buckets.values():
            yield from _similar(found, np.array(met))


def _similar(found: Signatures, met: NDArray[np.int64]) -> Iterator[tuple[int, list[int]]]:
    for _ in range(COMPARED):
        if len(met) < 2:
            return
        one, others = met[0], met[1:]
        close = (found[others] == found[one]).mean(axis=1) >= SIMILAR
        yield int(one), others[close].tolist()
        met = others[~close]


def _root(parent: list[int], i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i
