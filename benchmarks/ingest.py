"""Points a second over HTTP, from four closed-loop clients, beside MLflow and trackio.

    python -m benchmarks.ingest

One server process each. Ours is on the bundled PostgreSQL, flushed to disk at every commit, called through the API with
an ingest token a run; MLflow is on the same PostgreSQL, and for comparison once more with the four processes that it
starts by default; trackio keeps SQLite files. All send the same values over connections that are kept, in the quickest
way that their public API has (benchmarks.peers says which), from bodies made beforehand. The systems take turns, so
that a busy machine slows each alike; a ratio is the median of the rounds.

First all send batches of 1000 points, the most that MLflow takes: there the goals are judged. Then those that take more
are sent larger ones, as a writer with a backlog does, and each is compared at the size that it is quickest at.
Exits 1 where a goal is missed.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from benchmarks import peers, servers
from benchmarks.closed_loop import Client, drive
from benchmarks.points import KEYS, POINTS, START, Batch, batches

GOAL = 50_000
CLIENTS, ROUNDS = 4, 5
LARGER = (10_000, 100_000)


Rates: TypeAlias = dict[str, list[float]]
"""Points a second by a system's name, round by round."""


class System(Protocol):
    """A server that takes points: its name, batches a client and round, whether it takes more than 1000 points a batch,
    and least ratio of ours to it."""

    name: str
    batches: int
    takes_more: bool
    goal: float

    def clients(self, batches: Sequence[Sequence[Batch]]) -> list[Client]: ...


@dataclass(frozen=True)
class Ours:
    """esweb. `path` and `content_type` say how its batches are sent, `body` makes one."""

    name: str
    site: servers.Site
    web: servers.Web
    content_type: str
    body: Callable[[Batch], bytes]
    batches = 50
    takes_more = True
    goal = 0.0

    def clients(self, batches: Sequence[Sequence[Batch]]) -> list[Client]:
        """One client a writer, each with a new run and its token."""
        writers = [self.site.writer() for _ in batches]
        return [
            Client(self.web.port, writer.path, writer.headers(self.content_type), [self.body(b) for b in own])
            for writer, own in zip(writers, batches, strict=True)
        ]


def columns(batch: Batch) -> bytes:
    """A batch as the API takes columns."""
    steps = list(range(batch.first, batch.first + len(batch.columns[0])))
    body = {"seq": batch.first, "t": [START + step for step in steps], "step": steps}
    return json.dumps(body | {"values": dict(zip(KEYS, batch.columns, strict=True))}).encode()


def lines(batch: Batch) -> bytes:
    """The same records as the lines of a run's file."""
    rows = enumerate(zip(*batch.columns, strict=True), batch.first)
    return b"".join(
        json.dumps({"seq": n, "t": START + n, "kind": "metric", "step": n, "values": dict(zip(KEYS, row, strict=True))})
        .encode() + b"\n"
        for n, row in rows
    )  # fmt: skip


def rates(systems: Sequence[System], web: servers.Web, points: int = POINTS) -> Rates:
    """Points a second of each system, round by round, after one round that warms up, in batches of so many points."""
    found: Rates = {system.name: [] for system in systems}
    for number in range(ROUNDS + 1):
        for system in systems:
            count = max(2, system.batches * POINTS // points) if number else 2
            records = points // len(KEYS)
            clients = system.clients([list(batches(seed, count, records=records)) for seed in range(CLIENTS)])
            before = web.cpu_seconds()
            seconds, answers = drive(clients)
            if number:
                found[system.name].append(len(answers) * points / seconds)
            if number == ROUNDS and isinstance(system, Ours):
                spent = 1000 * (web.cpu_seconds() - before) / len(answers)
                print(f"{system.name}: {spent:.1f} ms of the server's CPU a batch of {points}", flush=True)
    return found


def tell(systems: Sequence[System], found: Rates) -> bool:
    """Prints each figure with its goal. True where all are met."""
    ours, kept = found[systems[0].name], True
    for system in systems:
        rate = found[system.name]
        ratio = statistics.median(a / b for a, b in zip(ours, rate, strict=True))
        line = f"{system.name:20} {statistics.median(rate):8.0f} points/s ({min(rate):.0f} to {max(rate):.0f})"
        if system is systems[0]:
            line += f", goal {GOAL}"
            kept &= statistics.median(rate) >= GOAL
        elif not isinstance(system, Ours):
            line += f"   esweb has {ratio:.1f}x" + (f", goal {system.goal:g}x" if system.goal else "")
            kept &= ratio >= system.goal
        print(line, flush=True)
    return kept


def tell_larger(systems: Sequence[System], web: servers.Web, found: Rates) -> None:
    """Measures larger batches where they are taken, and prints each system at its quickest."""
    best = {name: (statistics.median(rate), POINTS) for name, rate in found.items()}
    print("\nlarger batches, of those that take them:", flush=True)
    for points in LARGER:
        for name, rate in rates([system for system in systems if system.takes_more], web, points).items():
            middle = statistics.median(rate)
            print(f"{name:20} {middle:8.0f} points/s ({min(rate):.0f} to {max(rate):.0f}) in batches of {points}")
            best[name] = max(best[name], (middle, points))
    print("\neach in the batches that it is quickest at:")
    ours = best[systems[0].name][0]
    for name, (middle, points) in best.items():
        print(f"{name:20} {middle:8.0f} points/s in batches of {points}   esweb has {ours / middle:.1f}x", flush=True)


def main() -> int:
    """Measures, prints, and says by its exit code whether the goals are met."""
    with servers.site() as site, servers.web() as web, ExitStack() as running:
        systems: list[System] = [
            Ours("esweb, columns", site, web, "application/json", columns),
            Ours("esweb, lines", site, web, "application/jsonl", lines),
        ]
        for peer in (peers.mlflow, peers.mlflow_as_it_comes, peers.trackio):
            try:
                systems.append(running.enter_context(peer(site)))
            except peers.Missing as error:
                print(f"{peer.__name__} is left out: {error}", flush=True)
        found = rates(systems, web)
        print(f"\nbatches of {POINTS} points, the most that MLflow takes:", flush=True)
        is_kept = tell(systems, found)
        tell_larger(systems, web, found)
        return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
