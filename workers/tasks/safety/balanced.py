"""A selection of prompts that keeps the shares of its buckets, by largest remainders (Hamilton's method).

A bucket is which of a prompt's two published responses is safe: FF, FT, TF, TT. No prompt is taken twice, within a
selection or between two.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence

from workers.tasks.safety.prompt_file import SAFE, BadPrompts, Row, unique


def quotas(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """How many of `count` each bucket gets: its share rounded down, then one more by largest remainder.

    Equal remainders go to the larger bucket, then by name. Raises ValueError where there are not so many.
    """
    total = sum(sizes.values())
    if not 0 <= count <= total:
        raise ValueError(f"{count} cannot be chosen from {total}")
    if total == 0:
        return dict.fromkeys(sizes, 0)
    # In whole numbers: a share as a float would decide ties by its rounding.
    parts = {name: divmod(size * count, total) for name, size in sizes.items()}
    left = count - sum(whole for whole, _ in parts.values())
    favoured = sorted(sizes, key=lambda name: (-parts[name][1], -sizes[name], name))[:left]
    return {name: parts[name][0] + (name in favoured) for name in sizes}


def balanced(rows: Sequence[Row], count: int, seed: int, but: Sequence[Row] = ()) -> list[Row]:
    """`count` different prompts in random order, none of them in `but`. Raises BadPrompts.

    The shares are those of what is there to choose from, each prompt counted once.
    """
    there = unique(rows, but)
    for row in there:
        if not row.bucket:
            raise BadPrompts(f"{row.place}: a balanced selection needs {' and '.join(SAFE)}")
    if count > len(there):
        raise BadPrompts(f"{count} prompts cannot be chosen: there are {len(there)} different ones that are not taken")
    rng = random.Random(seed)
    chosen = []
    for bucket, quota in sorted(quotas(Counter(row.bucket for row in there), count).items()):
        chosen += rng.sample([row for row in there if row.bucket == bucket], quota)
    return rng.sample(chosen, len(chosen))


def halves(rows: Sequence[Row], seed: int) -> tuple[list[Row], list[Row]]:
    """Two halves without a prompt in common, whatever the buckets, each in random order."""
    there = unique(rows)
    mixed = random.Random(seed).sample(there, len(there))
    middle = math.ceil(len(mixed) / 2)
    return mixed[:middle], mixed[middle:]
