"""Find answers that are nearly the same: MinHash signatures of three-word shingles, in bands (Broder 1997; Leskovec,
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
"""Bands of eight hashes each: a pair of similarity 0.8 meets in a band with a chance of 95 %, a pair of 0.5 with 6
%."""
SIMILAR = 0.8
MAX_BUCKET_COMPARISONS = 256
"""Texts of a band's bucket that are compared with all others in it. Thousands of texts with the same beginning then
take linear time. Other similar texts meet in other bands."""
MAX_HASHED_SHINGLES = 2**15
"""Shingles whose hashes are in memory at the same time: 32 MB."""


def clusters(texts: Sequence[Words]) -> list[list[int]]:
    """Return the positions of texts (each its words) that are nearly the same, the largest cluster first; a text alone
    is a cluster too."""
    positions: dict[Words, list[int]] = defaultdict(list)
    for i, words in enumerate(texts):
        positions[words].append(i)
    different = list(positions)
    parent = list(range(len(different)))
    for first, others in _pairs(signatures(different)):
        for other in others:
            parent[_root(parent, other)] = _root(parent, first)
    grouped: dict[int, list[int]] = defaultdict(list)
    for i, words in enumerate(different):
        grouped[_root(parent, i)] += positions[words]
    return sorted((sorted(members) for members in grouped.values()), key=lambda members: (-len(members), members[0]))


def effective_number(sizes: Sequence[int]) -> float:
    """Return the number of equally large clusters that would be as uneven: exp of the entropy of the shares, 1 to
    len(sizes)."""
    shares = np.asarray(sizes, np.float64) / sum(sizes)
    return float(np.exp(-(shares * np.log(shares)).sum()))


def signatures(texts: Sequence[Words]) -> Signatures:
    """Return uint64[texts, HASHES]: the least value of each hash over a text's shingles."""
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
    """Return uint64[n], the distinct shingles; a text of fewer words is a single one."""
    last = max(1, len(words) - SHINGLE_WORDS + 1)
    shingles = {" ".join(words[i : i + SHINGLE_WORDS]) for i in range(last)}
    return np.fromiter((crc32(shingle.encode("utf-8", "replace")) for shingle in shingles), np.uint64, len(shingles))


def _blocks(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield (first, last + 1) of the texts whose shingles are hashed together."""
    start, pending = 0, 0
    for i, size in enumerate(sizes):
        if pending and pending + size > MAX_HASHED_SHINGLES:
            yield start, i
            start, pending = i, 0
        pending += size
    if sizes:
        yield start, len(sizes)


def _pairs(text_signatures: Signatures) -> Iterator[tuple[int, list[int]]]:
    """Yield (a text, the texts that are nearly the same) for texts that meet in a band."""
    for band in np.split(text_signatures, BANDS, axis=1):
        buckets: dict[bytes, list[int]] = defaultdict(list)
        for i, rows in enumerate(np.ascontiguousarray(band)):
            buckets[rows.tobytes()].append(i)
        for bucket in buckets.values():
            yield from _similar(text_signatures, np.array(bucket))


def _similar(text_signatures: Signatures, bucket: NDArray[np.int64]) -> Iterator[tuple[int, list[int]]]:
    for _ in range(MAX_BUCKET_COMPARISONS):
        if len(bucket) < 2:
            return
        first, others = bucket[0], bucket[1:]
        close = (text_signatures[others] == text_signatures[first]).mean(axis=1) >= SIMILAR
        yield int(first), others[close].tolist()
        bucket = others[~close]


def _root(parent: list[int], i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i
