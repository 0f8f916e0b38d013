"""Measure points a second over HTTP, from four closed-loop clients, compared with MLflow and trackio.

    python -m benchmarks.ingest

One server process each. Ours is on the bundled PostgreSQL, flushed to disk at every commit, called through the API with
an ingest token a run; MLflow is on the same PostgreSQL, and for comparison once more with the four processes that it
starts by default; trackio writes SQLite files. All send the same values over connections that stay open, in the
quickest way that their public API has (see benchmarks.peers), from bodies prepared beforehand. The systems take turns,
so that a busy machine slows each alike; a ratio is the median of the rounds.

First all send batches of 1000 points, the most that MLflow takes. Then systems that take larger batches get them, as
from a writer with a backlog, and each is compared at its quickest size.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from benchmarks import peers, results, servers
from benchmarks.closed_loop import Client, drive
from benchmarks.points import KEYS, POINTS, START, Batch, batches

GOAL = 50_000
CLIENTS, ROUNDS = 4, 5
LARGER = (10_000, 100_000)


Rates: TypeAlias = dict[str, list[float]]
"""Points a second by a system's name, round by round."""


class System(Protocol):
    """A server that takes points.

    `batches` is per client and round, and `largest` the size of its largest batch, in points. `goal` is the least ratio
    of our rate to its rate in batches of 1000, `quickest_goal` that with each at its quickest size; 0 promises nothing.
    """

    name: str
    batches: int
    largest: int
    goal: float
    quickest_goal: float

    def clients(self, batches: Sequence[Sequence[Batch]]) -> list[Client]: ...


@dataclass(frozen=True)
class Ours:
    """The esweb server. `path` and `content_type` define how its batches are sent, `body` makes one."""

    name: str
    site: servers.Site
    web: servers.Web
    content_type: str
    body: Callable[[Batch], bytes]
    largest: int
    batches = 50
    goal = quickest_goal = 0.0

    def clients(self, batches: Sequence[Sequence[Batch]]) -> list[Client]:
        """Return one client a writer, each with a new run and its token."""
        writers = [self.site.writer() for _ in batches]
        return [
            Client(self.web.port, writer.path, writer.headers(self.content_type), [self.body(b) for b in own])
            for writer, own in zip(writers, batches, strict=True)
        ]


def columns(batch: Batch) -> bytes:
    """Return a batch as the API takes columns."""
    steps = list(range(batch.first, batch.first + len(batch.columns[0])))
    body = {"seq": batch.first, "t": [START + step for step in steps], "step": steps}
    return json.dumps(body | {"values": dict(zip(KEYS, batch.columns, strict=True))}).encode()


def lines(batch: Batch) -> bytes:
    """Return the same records as the lines of a run's file."""
    rows = enumerate(zip(*batch.columns, strict=True), batch.first)
    return b"".join(
        json.dumps({"seq": n, "t": START + n, "kind": "metric", "step": n, "values": dict(zip(KEYS, row, strict=True))})
        .encode() + b"\n"
        for n, row in rows
    )  # fmt: skip


def rates(systems: Sequence[System], web: servers.Web, points: int = POINTS) -> Rates:
    """Return points a second of each system, round by round, after one warm-up round, in batches of so many points."""
    measured: Rates = {system.name: [] for system in systems}
    for number in range(ROUNDS + 1):
        for system in systems:
            count = max(2, system.batches * POINTS // points) if number else 2
            records = points // len(KEYS)
            clients = system.clients([list(batches(seed, count, records=records)) for seed in range(CLIENTS)])
            before = web.cpu_seconds()
            seconds, answers = drive(clients)
            if number:
                measured[system.name].append(len(answers) * points / seconds)
            if number == ROUNDS and isinstance(system, Ours):
                spent = 1000 * (web.cpu_seconds() - before) / len(answers)
                print(f"{system.name}: {spent:.1f} ms of the server's CPU a batch of {points}", flush=True)
    return measured


def report(systems: Sequence[System], rates_by_system: Rates) -> None:
    """Record the rates in batches of 1000 points."""
    ours = rates_by_system[systems[0].name]
    for system in systems:
        rate = rates_by_system[system.name]
        print(f"{system.name}: {min(rate):.0f} to {max(rate):.0f} points/s")
        ratio = statistics.median(a / b for a, b in zip(ours, rate, strict=True))
        if system is systems[0]:
            results.at_least(f"{system.name}, batches of {POINTS}", statistics.median(rate), GOAL, "points/s")
        elif isinstance(system, Ours):
            results.without_goal(f"{system.name}, batches of {POINTS}", statistics.median(rate), "points/s")
        else:
            record_peer(system.name, f"batches of {POINTS}", statistics.median(ours), ratio, system.goal)


def record_peer(peer: str, batches: str, ours: float, ratio: float, goal: float) -> None:
    """Record our rate and its ratio to a peer's; a goal of 0 promises nothing."""
    figure = f"esweb beside {peer}, {batches}"
    if goal:
        results.times_peer(figure, ours, "points/s", ratio=ratio, goal=goal, peer=peer)
    else:
        results.without_goal(figure, ours, "points/s", ratio=ratio, peer=peer)


def report_larger(systems: Sequence[System], web: servers.Web, rates_by_system: Rates) -> None:
    """Measure larger batches if a system takes them, and record each system at its quickest."""
    best = {name: (statistics.median(rate), POINTS) for name, rate in rates_by_system.items()}
    for points in LARGER:
        for name, rate in rates([system for system in systems if system.largest >= points], web, points).items():
            middle = statistics.median(rate)
            print(f"{name:20} {middle:8.0f} points/s ({min(rate):.0f} to {max(rate):.0f}) in batches of {points}")
            best[name] = max(best[name], (middle, points))
    ours, our_points = best[systems[0].name]
    for system in systems:
        middle, points = best[system.name]
        if isinstance(system, Ours):
            results.without_goal(f"{system.name}, batches of {points}", middle, "points/s")
        else:
            sizes = f"batches of {our_points} and {points}"
            record_peer(system.name, sizes, ours, ours / middle, system.quickest_goal)


def main() -> int:
    """Measure, record, and return the exit code."""
    with servers.site() as site, servers.web() as web, ExitStack() as running:
        systems: list[System] = [
            Ours("esweb, columns", site, web, "application/json", columns, LARGER[1]),
            Ours("esweb, lines", site, web, "application/jsonl", lines, LARGER[0]),
        ]
        for peer in (peers.mlflow, peers.mlflow_as_it_comes, peers.trackio):
            try:
                systems.append(running.enter_context(peer(site)))
            except peers.PeerUnavailable as error:
                results.not_measured(f"esweb beside {peer.__name__}", str(error))
        rates_by_system = rates(systems, web)
        report(systems, rates_by_system)
        report_larger(systems, web, rates_by_system)
    return results.exit_code()


if __name__ == "__main__":
    sys.exit(main())
