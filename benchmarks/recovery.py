"""Measure how soon a part of a busy site is back after kill -9: web, follower, a process of PostgreSQL.

    python -m benchmarks.recovery

A new site with four runs, beside eight processes that use all that they get of the cores. From the kill to the first
good answer of the web, or until all records that were in files by then are in the database. The worst of three.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psycopg

from benchmarks import results
from benchmarks.servers import STARTS_SECONDS, cpu_seconds, end
from esweb.embedded import database_url
from tests.chaos.processes import select_processes
from tests.chaos.supervisor import Supervisor

GOAL_SECONDS = 10.0
RUNS, BUSY, ROUNDS = 4, 8, 3
WARM_UP_SECONDS, PAUSE_SECONDS = 30.0, 15.0
"""Before the first kill and after each, so that the spare processes are loaded."""
VICTIMS = {"the web": "web", "the follower": "follow", "a process of PostgreSQL": "postgres child"}


def wait_for(condition: Callable[[], object]) -> float:
    """Return the seconds until the condition holds. Raise TimeoutError."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > STARTS_SECONDS:
            raise TimeoutError(f"not within {STARTS_SECONDS:g} s")
        time.sleep(0.05)
    return time.monotonic() - began


class BusySite:
    """A site whose runs train."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.supervisor, self.data = supervisor, supervisor.data

    def launch(self) -> None:
        """Launch the runs, and return once each has stored a record."""
        link = re.findall(r"open this link.*: (http\S+)", self.supervisor.output)[-1]
        body = {"experiment_name": "Busy", "preset": "es-micro", "config": {"es": {"iterations": 100_000}}}
        with httpx.Client(base_url=self.supervisor.address, timeout=60, follow_redirects=True) as browser:
            browser.get(link)
            for _ in range(RUNS):
                headers = {"X-CSRFToken": browser.cookies["csrftoken"]}
                browser.post("/api/v1/runs", json=body, headers=headers).raise_for_status()
        wait_for(lambda: len(list(self.record_files())) == RUNS and self.stored_bytes() > 0)

    def record_files(self) -> Iterator[Path]:
        """Yield the files of records."""
        return (self.data / "runs").rglob("records.*.jsonl")

    def stored_bytes(self) -> int:
        """Return how much of the files is in the database; -1 if that does not answer."""
        try:
            with psycopg.connect(database_url(self.data), connect_timeout=2) as connection:
                row = connection.execute('SELECT coalesce(sum("offset"), 0) FROM runs_recordfile').fetchone()
        except psycopg.Error:
            return -1
        return int(row[0]) if row else 0

    def answers(self) -> bool:
        """Return whether the web is well."""
        try:
            return httpx.get(f"{self.supervisor.address}/healthz", timeout=60).status_code == 200
        except httpx.TransportError:
            return False

    def recover(self, victim: str) -> float:
        """Kill the process of that role which has worked most, and return the seconds until the site is as before."""
        pids = [one.process.pid for one in select_processes(victim, self.supervisor.processes())]
        os.kill(max(pids, key=cpu_seconds), signal.SIGKILL)
        if victim == "web":
            return wait_for(self.answers)
        written = sum(file.stat().st_size for file in self.record_files())
        return wait_for(lambda: self.stored_bytes() >= written)


@contextmanager
def busy_processes() -> Iterator[None]:
    """Run processes that use all that they get of the cores, until the block ends."""
    argv = [sys.executable, "-S", "-c", "while True: pass"]
    processes = [subprocess.Popen(argv, start_new_session=bool(n % 2)) for n in range(BUSY)]
    try:
        yield
    finally:
        for process in processes:
            end(process)


def main() -> int:
    """Measure, record, and return the exit code."""
    with tempfile.TemporaryDirectory(prefix="esweb-recovery-") as folder:
        supervisor = Supervisor(Path(folder) / "site", {"ESWEB_LOCAL_SLOTS": str(RUNS), "ESWEB_RUN_NICENESS": "10"})
        supervisor.start()
        try:
            wait_for(lambda: "open this link" in supervisor.output)
            site = BusySite(supervisor)
            site.launch()
            seconds: dict[str, list[float]] = {name: [] for name in VICTIMS}
            with busy_processes():
                time.sleep(WARM_UP_SECONDS)
                for _ in range(ROUNDS):
                    for name, victim in VICTIMS.items():
                        seconds[name].append(site.recover(victim))
                        time.sleep(PAUSE_SECONDS)
                print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        finally:
            supervisor.stop()
    for name, measured in seconds.items():
        results.at_most(f"back after the kill of {name}", max(measured), GOAL_SECONDS, "s")
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
