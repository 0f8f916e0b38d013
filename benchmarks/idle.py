"""Measure what a site costs on which nothing happens: CPU time by process, and the growth of Valkey's files.

    python -m benchmarks.idle

A new site, started with `manage.py up`, without a run, a visitor or an open page. Its spare processes are loaded before
the measurement begins. The unit is the percentage of one core.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import results
from benchmarks.servers import ROOT, STARTS_SECONDS, UNSET_VARIABLES, end
from tests.chaos.processes import SiteProcess, site_processes

GOAL_PERCENT = 3.0
GOAL_KB_PER_MINUTE = 250.0
SETTLING_SECONDS = 40.0
MEASURED_SECONDS = 120.0


@contextmanager
def idle_site(data: Path) -> Iterator[None]:
    """Run a new site until the block ends. Raise RuntimeError if it does not start."""
    env = {name: value for name, value in os.environ.items() if name not in UNSET_VARIABLES}
    console = data / "console"
    with console.open("wb") as output:
        argv = [sys.executable, str(ROOT / "manage.py"), "up", "--data", str(data / "site"), "--port", "0"]
        up = subprocess.Popen(argv, env=env, stdout=output, stderr=output, start_new_session=True)
    try:
        give_up_at = time.monotonic() + STARTS_SECONDS
        while "ready at" not in console.read_text():
            if up.poll() is not None or time.monotonic() > give_up_at:
                raise RuntimeError(f"The site did not start: {console.read_text()}")
            time.sleep(0.1)
        yield
    finally:
        end(up)


def cpu_seconds(process: SiteProcess) -> float:
    """Return the CPU seconds of all threads of a process, in nanoseconds' precision: an idle one uses few ticks."""
    threads = Path(f"/proc/{process.process.pid}/task").glob("*/schedstat")
    return sum(int(file.read_text().split()[0]) for file in threads) / 1e9


def bytes_in(folder: Path) -> int:
    """Return the size of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def measure(data: Path) -> tuple[dict[str, float], float]:
    """Return the percentage of a core by role of process, and Valkey's kB a minute. Raise RuntimeError if a process
    ended."""
    before = {site_process: cpu_seconds(site_process) for site_process in site_processes(data)}
    size, began = bytes_in(data / "valkey"), time.monotonic()
    time.sleep(MEASURED_SECONDS)
    elapsed = time.monotonic() - began
    grown = bytes_in(data / "valkey") - size
    after = site_processes(data)
    if ended := {one.process.pid for one in before} - {one.process.pid for one in after}:
        raise RuntimeError(f"Processes ended meanwhile: {ended}")
    percents: dict[str, float] = {}
    for one in before:
        used = 100 * (cpu_seconds(one) - before[one]) / elapsed
        percents[one.role] = percents.get(one.role, 0.0) + used
    return percents, 60 * grown / elapsed / 1000


def main() -> int:
    """Measure, record, and return the exit code."""
    with tempfile.TemporaryDirectory(prefix="esweb-idle-") as folder, idle_site(Path(folder)):
        time.sleep(SETTLING_SECONDS)
        percents, grown = measure(Path(folder) / "site")
    for role, percent in sorted(percents.items(), key=lambda item: -item[1]):
        results.without_goal(f"of these, {role}", percent, "% of a core")
    results.at_most("a site on which nothing happens", sum(percents.values()), GOAL_PERCENT, "% of a core")
    results.at_most("growth of Valkey's files, until they are rewritten", grown, GOAL_KB_PER_MINUTE, "kB/min")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
