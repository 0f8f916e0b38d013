"""Measure what writing a record costs the training loop: microseconds of a call with ten values, and of a bare write().

    python -m benchmarks.log_call

The call is the one that every trainer makes; each record is on its way to the disk when it returns, in one `write()`.
The comparison is `write()` itself, with a line of the same length, in the same file system. The goal is that of the
median.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import results
from workers.records import Metric, RecordWriter, records_path

GOAL_MICROSECONDS = 10.0
CALLS, WARM_UP = 20_000, 1_000
VALUES = {f"train/key_{number}": 0.1234567890123 * number for number in range(10)}


def microseconds(call: Callable[[int], object]) -> list[float]:
    """Return the microseconds of each call, sorted."""
    durations = []
    for number in range(WARM_UP + CALLS):
        began = time.perf_counter_ns()
        call(number)
        durations.append((time.perf_counter_ns() - began) / 1000)
    return sorted(durations[WARM_UP:])


def bare(folder: Path, line: bytes) -> list[float]:
    """Return the microseconds of writing a line, and nothing else."""
    descriptor = os.open(folder / "bare", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        return microseconds(lambda _: os.write(descriptor, line))
    finally:
        os.close(descriptor)


def main() -> int:
    """Measure, record, and return the exit code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with RecordWriter(folder, 0) as records:
            ours = microseconds(lambda step: records.write(Metric(step, VALUES, {"tokens": 512.0 * step})))
        line = records_path(folder, 0).read_bytes().splitlines(keepends=True)[-1]
        limit = bare(folder, line)
    median, ratio = statistics.median(ours), statistics.median(ours) / statistics.median(limit)
    results.at_most("log() of 10 values, median", median, GOAL_MICROSECONDS, "µs")
    results.without_goal(f"log() beside write() of its {len(line)} bytes", median, "µs", ratio=ratio, peer="write()")
    results.without_goal("log() of 10 values, p99", ours[int(0.99 * CALLS)], "µs")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
