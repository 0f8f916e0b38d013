"""The points of a file that writers push: a pure function of its number, so that every one can be looked for."""

from __future__ import annotations

import numpy as np
import orjson
from numpy.typing import NDArray

from tests import soaking
from workers.records import Metric, pack

RECORDS = 200 if soaking.SECONDS else 25
KEYS = tuple(f"train/key_{number}" for number in range(10))
POINTS = RECORDS * len(KEYS)
"""Of one batch."""
START = 1_700_000_000.0


def steps_of(first: int, count: int) -> NDArray[np.int64]:
    """The steps of the records `first`, `first` + 1, …: they go up and down."""
    return np.arange(first, first + count) ^ 5


def values_of(file: int, batch: int) -> NDArray[np.float64]:
    """float64 [records, keys]."""
    return np.random.default_rng((file, batch)).standard_normal((RECORDS, len(KEYS)))


def columns(file: int, batch: int) -> bytes:
    """A batch as one object of columns."""
    first, values = batch * RECORDS, values_of(file, batch)
    body = {
        "seq": first,
        "t": START + np.arange(first, first + RECORDS),
        "step": steps_of(first, RECORDS),
        "values": {key: np.ascontiguousarray(values[:, n]) for n, key in enumerate(KEYS)},
    }
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def lines(file: int, batch: int) -> bytes:
    """The same as lines of a file."""
    first = batch * RECORDS
    steps, rows = steps_of(first, RECORDS).tolist(), values_of(file, batch).tolist()
    records = (Metric(step, dict(zip(KEYS, row, strict=True))) for step, row in zip(steps, rows, strict=True))
    return b"".join(pack(seq, START + seq, record) for seq, record in enumerate(records, first))
