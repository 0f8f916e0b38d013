"""Measure what a call of esweb_client costs a training: microseconds of log() with ten values, and of a bare write().

    python -m benchmarks.client_calls

Each record is on its way to the disk when the call returns, in one `write()`. The comparison is `write()` itself, with
a line of the same length, in the same file system. The goal is that of the median. The run is offline, so that no
server takes part; the background thread runs as always.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

import esweb_client
from benchmarks import results
from benchmarks.log_call import CALLS, VALUES, bare, microseconds
from esweb_client.spool import RECORDS

GOAL_MICROSECONDS = 10.0


def main() -> int:
    """Measure, record, and return the exit code."""
    with tempfile.TemporaryDirectory() as name:
        with esweb_client.init(mode="offline", dir=name, capture_git=False) as run:
            durations = microseconds(lambda step: run.log(VALUES, step=step))
            nested = microseconds(lambda step: run.log({"train": {"loss": 1, "kl": 0.5}, "lr": 1e-5}, step=step))
            folder = Path(str(run.folder))
        with (folder / RECORDS).open("rb") as file:
            line = next(line for line in file if b"train/key_9" in line and b'"step":999' in line)
        limit = bare(Path(name), line)
    median, ratio = statistics.median(durations), statistics.median(durations) / statistics.median(limit)
    results.at_most("esweb_client: log() of 10 values, median", median, GOAL_MICROSECONDS, "µs")
    results.without_goal(f"log() beside write() of its {len(line)} bytes", median, "µs", ratio=ratio, peer="write()")
    results.without_goal("log() of 10 values, p99", durations[int(0.99 * CALLS)], "µs")
    results.without_goal("log() of 3 nested values, one whole, median", statistics.median(nested), "µs")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
