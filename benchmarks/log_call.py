"""What writing a record costs the training loop: microseconds of a call with ten values, beside a bare write().

    python -m benchmarks.log_call

The call is the one that every trainer makes; each record is on its way to the disk when it returns, in one `write()`.
The limit named is that of `write()` itself, with a line of the same length, in the same file system. Exits 1 where the
median misses its goal.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from workers.records import Metric, RecordWriter, records_path

GOAL_MICROSECONDS = 50.0
CALLS, WARM_UP = 20_000, 1_000
VALUES = {f"train/key_{number}": 0.1234567890123 * number for number in range(10)}


def microseconds(call: Callable[[int], object]) -> list[float]:
    """What each call took, sorted."""
    found = []
    for number in range(WARM_UP + CALLS):
        began = time.perf_counter_ns()
        call(number)
        found.append((time.perf_counter_ns() - began) / 1000)
    return sorted(found[WARM_UP:])


def bare(folder: Path, line: bytes) -> list[float]:
    """The same for nothing but handing over a line."""
    descriptor = os.open(folder / "bare", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        return microseconds(lambda _: os.write(descriptor, line))
    finally:
        os.close(descriptor)


def main() -> int:
    """Measures, prints, and returns 1 where the goal is missed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with RecordWriter(folder, 0) as records:
            ours = microseconds(lambda step: records.write(Metric(step, VALUES, {"tokens": 512.0 * step})))
        line = records_path(folder, 0).read_bytes().splitlines(keepends=True)[-1]
        limit = bare(folder, line)
    median = statistics.median(ours)
    print(
        f"log() of 10 values: median {median:.1f} µs, p99 {ours[int(0.99 * CALLS)]:.0f} µs, goal {GOAL_MICROSECONDS:g} "
        f"µs; {median / statistics.median(limit):.1f}x a bare write() of its {len(line)} bytes"
    )
    return int(median > GOAL_MICROSECONDS)


if __name__ == "__main__":
    sys.exit(main())
