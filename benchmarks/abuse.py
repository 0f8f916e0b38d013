"""Search for the request of at most 10 kB that costs most: over every route, by a stranger, a viewer and a member.

    python -m benchmarks.abuse

tests/security/costly_requests.py generates the requests. They are sent one after the other, without limits of calls a
minute, to one web server on a site with a run of every kind and 50 runs of 40 keys. CPU seconds are those of the web
server, its children and PostgreSQL; megabytes are what the web server grows by, at its highest. Meanwhile /healthz is
requested every 50 ms; its slowest reply is the third figure.
"""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import results, servers

if TYPE_CHECKING:
    from tests.security.costly_requests import CostlyRequest

GOAL_CPU_SECONDS, GOAL_MB, GOAL_HEALTH_SECONDS = 0.5, 64.0, 0.5
RUNS, KEYS, STEPS = 50, 40, 100
PAUSE_SECONDS = 0.05
SHOWN = 8
PATIENCE_SECONDS = 120
NO_LIMITS = ("CALLS", "PUSHES", "STRANGERS", "SIGN_INS")
ROLES = ("stranger", "viewer", "member")


@dataclass(frozen=True)
class Cost:
    """What one request cost."""

    request: CostlyRequest
    status: int
    cpu_seconds: float
    megabytes: float
    health_seconds: float

    def __str__(self) -> str:
        line = f"{self.request.method} {self.request.target[:60]}"
        return (
            f"{self.cpu_seconds:6.2f} s {self.megabytes:6.1f} MB  healthz {self.health_seconds:5.2f} s  "
            f"{self.status}  {self.request.route}: {self.request.cause}  ({line!r}, {self.request.size} bytes)"
        )


class Health(threading.Thread):
    """Requests /healthz again and again. `slowest` is the slowest reply since it was last set to 0."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self.port, self.slowest, self.ended = port, 0.0, threading.Event()

    def run(self) -> None:
        """Request until `ended` is set."""
        while not self.ended.wait(PAUSE_SECONDS):
            began = time.perf_counter()
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            connection.close()
            self.slowest = max(self.slowest, time.perf_counter() - began)


def fill() -> tuple[Mapping[tuple[str, str], object], list[str], list[str]]:
    """Create the rows. Return the objects that addresses name, and the uids and keys of runs with many points."""
    from tests.runs.full_runs import make_run, record
    from tests.security.every_object import make_every_object
    from workers.records import Metric

    experiment = servers.experiment()
    keys = [f"reward/part{n}" for n in range(KEYS)]
    runs = [make_run(experiment, "es-tiny", seed, "succeeded") for seed in range(RUNS)]
    for run in runs:
        record(run, [Metric(step, dict.fromkeys(keys, step / 7)) for step in range(STEPS)])
    return make_every_object(experiment.owner), [run.uid for run in runs], keys


def headers_of(role: str) -> dict[str, str]:
    """Return the headers of a browser: signed in as a viewer or as the owner of all rows, or not at all."""
    from django.contrib.auth.models import User
    from django.middleware.csrf import _get_new_csrf_string
    from django.test import Client

    from runs import access

    if role == "stranger":
        return {}
    person = servers.experiment().owner if role == "member" else User.objects.get_or_create(username="viewer")[0]
    access.give_role(person, role)
    browser, word = Client(), _get_new_csrf_string()
    browser.force_login(person)
    session = browser.cookies["sessionid"].value
    return {"Cookie": f"sessionid={session}; csrftoken={word}", "X-CSRFToken": word}


def cost(web: servers.Web, health: Health, request: CostlyRequest, headers: Mapping[str, str], database: int) -> Cost:
    """Send one request, and return what it cost."""
    memory, before = _resident_mb(web.process.pid, "VmRSS"), _tree_cpu_seconds((web.process.pid, database))
    Path(f"/proc/{web.process.pid}/clear_refs").write_text("5", encoding="ascii")
    health.slowest = 0.0
    connection = http.client.HTTPConnection("127.0.0.1", web.port, timeout=PATIENCE_SECONDS)
    connection.request(request.method, request.target, request.body, {**headers, **request.headers})
    response = connection.getresponse()
    response.read()
    connection.close()
    return Cost(
        request, response.status, _tree_cpu_seconds((web.process.pid, database)) - before,
        _resident_mb(web.process.pid, "VmHWM") - memory, health.slowest,
    )  # fmt: skip


def _tree_cpu_seconds(roots: Sequence[int]) -> float:
    """Return the CPU seconds of these processes and their descendants, ended ones included."""
    from workers.client.processes import tree

    ticks = os.sysconf("SC_CLK_TCK")
    total = 0
    for stat in (stat for root in roots for stat in tree(root)):
        try:
            fields = Path(f"/proc/{stat.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(map(int, fields[11:15]))
    return total / ticks


def _resident_mb(pid: int, name: str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) / 1000


@contextmanager
def watched(port: int) -> Iterator[Health]:
    """Run the requests of /healthz."""
    health = Health(port)
    health.start()
    try:
        yield health
    finally:
        health.ended.set()
        health.join()


def report(role: str, costs: Sequence[Cost]) -> None:
    """Print the most costly requests, and record the three figures."""
    print(f"\n{role}: {len(costs)} requests; the most costly:", flush=True)
    for each in sorted(costs, key=lambda each: -each.cpu_seconds)[:SHOWN]:
        print(f"  {each}", flush=True)
    worst = f"{role}, worst of {len(costs)} requests"
    results.at_most(f"{worst}, CPU", max(each.cpu_seconds for each in costs), GOAL_CPU_SECONDS, "s")
    results.at_most(f"{worst}, memory", max(each.megabytes for each in costs), GOAL_MB, "MB")
    slowest = max(each.health_seconds for each in costs)
    results.at_most(f"{role}, slowest /healthz meanwhile", slowest, GOAL_HEALTH_SECONDS, "s")


def main() -> int:
    """Measure, record, and return the exit code."""
    os.environ |= {f"ESWEB_{name}_PER_MINUTE": "100000000" for name in NO_LIMITS}
    with servers.site() as site:
        from tests.security.costly_requests import all_requests

        database = int((site.data / "postgres" / "postmaster.pid").read_text(encoding="ascii").splitlines()[0])
        requests = list(all_requests(*fill()))
        servers.settle()
        for role in ROLES:
            headers = headers_of(role)
            # A server for each role: what one role left running is no cost of the next.
            # Its log has a line for each refusal.
            with servers.web(subprocess.DEVNULL) as web, watched(web.port) as health:
                report(role, [cost(web, health, request, headers, database) for request in requests])
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
