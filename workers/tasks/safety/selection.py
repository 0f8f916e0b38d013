"""Select prompts so that the shares of their buckets stay, by largest remainders (Hamilton's method).

A bucket tells which of a prompt's two published responses is safe: FF, FT, TF, TT. No prompt is selected twice, within
a selection or between two.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence

from workers.tasks.safety.prompt_file import SAFE_KEYS, BadPrompts, Row, unique


def quotas(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """Return how many of `count` each bucket gets: its share rounded down, then one more by largest remainder.

    Equal remainders go to the larger bucket, then by name. Raise ValueError if there are not so many.
    """
    total = sum(sizes.values())
    if not 0 <= count <= total:
        raise ValueError(f"{count} cannot be selected from {total}")
    if total == 0:
        return dict.fromkeys(sizes, 0)
    # Computed in whole numbers: a share as a float would decide ties by its rounding.
    parts = {name: divmod(size * count, total) for name, size in sizes.items()}
    left = count - sum(whole for whole, _ in parts.values())
    favoured = sorted(sizes, key=lambda name: (-parts[name][1], -sizes[name], name))[:left]
    return {name: parts[name][0] + (name in favoured) for name in sizes}


def select_balanced(rows: Sequence[Row], count: int, seed: int, excluded: Sequence[Row] = ()) -> list[Row]:
    """Return `count` different prompts in random order, none of them in `excluded`. Raise BadPrompts.

    The shares are those of the available prompts, each prompt counted once.
    """
    available = unique(rows, excluded)
    for row in available:
        if not row.bucket:
            raise BadPrompts(f"{row.location}: a balanced selection needs {' and '.join(SAFE_KEYS)}")
    if count > len(available):
        raise BadPrompts(f"{count} prompts cannot be selected: only {len(available)} different prompts are left")
    rng = random.Random(seed)
    selected = []
    for bucket, quota in sorted(quotas(Counter(row.bucket for row in available), count).items()):
        selected += rng.sample([row for row in available if row.bucket == bucket], quota)
    return rng.sample(selected, len(selected))


def split_halves(rows: Sequence[Row], seed: int) -> tuple[list[Row], list[Row]]:
    """Split into two halves without a prompt in common, whatever the buckets, each in random order."""
    available = unique(rows)
    shuffled = random.Random(seed).sample(available, len(available))
    middle = math.ceil(len(shuffled) / 2)
    return shuffled[:middle], shuffled[middle:]
