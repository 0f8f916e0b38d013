"""Seeds of the random directions of the probes, which no training uses."""

from __future__ import annotations

import hashlib

SEED_BITS = 53


def direction_seeds(seed: int, probe: str, draws: int) -> list[int]:
    """Return a positive seed for each draw, a function of the run's seed, the probe and the draw's number.

    They differ from the seeds of every population, so that no direction is one that a training has followed.
    """
    digests = (hashlib.sha256(f"probe/{probe}/{seed}/{draw}".encode()).digest() for draw in range(draws))
    return [(int.from_bytes(digest[:8], "little") >> (64 - SEED_BITS)) + 1 for digest in digests]
