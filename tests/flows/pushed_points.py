"""The points of a file that writers push: a pure function of its number, so that each point can be checked."""

from __future__ import annotations

import numpy as np
import orjson
from numpy.typing import NDArray

from tests import soak_plugin
from workers.records import Metric, pack

EXPERIMENT_NAME = "Writers"
RECORDS = 200 if soak_plugin.SECONDS else 25
KEYS = tuple(f"train/key_{number}" for number in range(10))
POINTS = RECORDS * len(KEYS)
"""Number of points of one batch."""
START = 1_700_000_000.0


def make_steps(first: int, count: int) -> NDArray[np.int64]:
    """Return the steps of the records `first`, `first` + 1, …: they go up and down."""
    return np.arange(first, first + count) ^ 5


def record_of(step: int) -> int:
    """Return the number of the record that has this step."""
    return step ^ 5


def make_values(file: int, batch: int) -> NDArray[np.float64]:
    """Return the values of a batch, float64 [records, keys]."""
    return np.random.default_rng((file, batch)).standard_normal((RECORDS, len(KEYS)))


def make_columns(file: int, batch: int) -> bytes:
    """Return a batch as one object of columns."""
    first, values = batch * RECORDS, make_values(file, batch)
    body = {
        "seq": first,
        "t": START + np.arange(first, first + RECORDS),
        "step": make_steps(first, RECORDS),
        "values": {key: np.ascontiguousarray(values[:, n]) for n, key in enumerate(KEYS)},
    }
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def make_lines(file: int, batch: int) -> bytes:
    """Return a batch as lines of a file."""
    first = batch * RECORDS
    steps, rows = make_steps(first, RECORDS).tolist(), make_values(file, batch).tolist()
    records = (Metric(step, dict(zip(KEYS, row, strict=True))) for step, row in zip(steps, rows, strict=True))
    return b"".join(pack(seq, START + seq, record) for seq, record in enumerate(records, first))
