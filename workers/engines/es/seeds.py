"""The random choices of a run, as pure functions of (run seed, iteration): members' seeds and prompts.

No generator is carried from one iteration to the next, so that a resumed run continues exactly.
"""

from __future__ import annotations

import hashlib

SEED_BITS = 53
"""A seed is a whole number that JSON, and JavaScript, represent exactly."""


def member_seeds(run_seed: int, iteration: int, population: int, *, antithetic: bool) -> list[int]:
    """Return one seed per member, none of them 0. Antithetic members come in pairs s, −s, of opposite noise."""
    if not antithetic:
        return [_draw(SEED_BITS, "member", run_seed, iteration, i) + 1 for i in range(population)]
    half = member_seeds(run_seed, iteration, population // 2, antithetic=False)
    return [signed for seed in half for signed in (seed, -seed)]


def prompt_subset(run_seed: int, iteration: int, count: int, total: int) -> list[int]:
    """Return `count` different indices below `total`, in rising order; all of them if count is 0 or too large."""
    if count == 0 or count >= total:
        return list(range(total))
    order = sorted(range(total), key=lambda i: _draw(64, "prompt", run_seed, iteration, i))
    return sorted(order[:count])


def sample_seed(seed: int, place: int) -> int:
    """Return the seed with which a server samples the response to the prompt at a place."""
    return _draw(SEED_BITS, "sample", seed, place)


def _draw(bits: int, *parts: object) -> int:
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> (64 - bits)
