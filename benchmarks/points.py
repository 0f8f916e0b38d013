"""The points of the benchmarks: records of ten keys, of which a hundred make a batch of a thousand points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

RECORDS = 100
KEYS = tuple(f"train/key_{number}" for number in range(10))
POINTS = RECORDS * len(KEYS)
START = 1_700_000_000.0


@dataclass(frozen=True)
class Batch:
    """The records `first`, `first` + 1, …; a column of values for each of KEYS."""

    first: int
    columns: list[list[float]]


def batches(seed: int, count: int, first: int = 0, records: int = RECORDS) -> Iterator[Batch]:
    """Yield consecutive batches of normal noise, which compresses worst and has the most digits."""
    noise = np.random.default_rng(seed)
    for number in range(count):
        yield Batch(first + number * records, noise.standard_normal((len(KEYS), records)).tolist())
