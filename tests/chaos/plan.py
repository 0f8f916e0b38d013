"""A plan of faults: a pure function of a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

KILL, FREEZE, FILL, CLOCK, STOP = "kill", "freeze", "fill", "clock", "stop"
EVERYTHING = "everything"
KILLS = (
    *("web", "worker", "worker child", "beat", "follow", "postgres", "postgres child", "valkey", "agent", "training"),
    *("up", EVERYTHING),
)
FREEZES = ("web", "worker child", "beat", "follow", "postgres", "valkey", "agent")
RUNS_DISK, DATABASE_DISK, VALKEY_MEMORY = "disk of the runs", "disk of the database", "memory of valkey"
PHASES = ("submitting", "loading", "training", "saving", "ending")
CLOCK_SHIFTS = (-3 * 3600, -90, 90, 3 * 3600)
"""Seconds by which the clock is set, back and forth."""
VERBS = {KILL: "killed", FREEZE: "frozen", FILL: "full", CLOCK: "set", STOP: "stopped"}

Kind = tuple[str, str]
"""The action and its victim: `("freeze", "web")`."""


@dataclass(frozen=True)
class Fault:
    """A fault that begins `wait` seconds after the fault before is over.

    If `phase` is not empty, a kill waits until some attempt is in it; `choice` (0 ≤ choice < 1) selects among several
    processes. A victim is frozen or full for `seconds`. The clock is set by `shift` seconds.
    """

    number: int
    kind: str
    victim: str
    wait: float
    phase: str = ""
    choice: float = 0.0
    seconds: float = 0.0
    shift: int = 0

    def __str__(self) -> str:
        details = {KILL: self.phase and f", while {self.phase}", CLOCK: f" {self.shift:+d} s", STOP: ""}
        return f"{self.number:>3} | {self.name}{details.get(self.kind, f' for {self.seconds:.1f} s')}"

    @property
    def name(self) -> str:
        """Return the description for the table at the end."""
        return f"{self.victim} {VERBS[self.kind]}"


def fault_kinds(*, with_clock: bool, with_disks: bool) -> list[Kind]:
    """Return the kinds of one round: each kill and freeze, everything that can be full, and the clock set twice."""
    full = (VALKEY_MEMORY, *((RUNS_DISK, DATABASE_DISK) if with_disks else ()))
    return [
        *((KILL, victim) for victim in KILLS),
        *((FREEZE, victim) for victim in FREEZES),
        *((FILL, victim) for victim in full),
        *([(CLOCK, CLOCK)] * 2 if with_clock else []),
    ]


def generate_faults(
    seed: int, kinds: Sequence[Kind], *, phases: Sequence[str] = ("", *PHASES), max_wait: float = 3.0
) -> Iterator[Fault]:
    """Yield faults without end: round after round all of these kinds, each round in random order."""
    rng, number = random.Random(seed), 0
    while True:
        for kind, victim in rng.sample(kinds, len(kinds)):
            number += 1
            yield Fault(
                number, kind, victim,
                wait=rng.uniform(0.0, max_wait),
                phase=rng.choice(phases) if kind == KILL else "",
                choice=rng.random(),
                seconds=rng.uniform(1.0, 8.0) if kind in (FREEZE, FILL) else 0.0,
                shift=rng.choice(CLOCK_SHIFTS) if kind == CLOCK else 0,
            )  # fmt: skip


FEW_FAULTS = (
    Fault(1, KILL, "training", 0.0, phase="saving"),
    Fault(2, KILL, "postgres", 0.0),
    Fault(3, KILL, "postgres child", 0.0),
    Fault(4, KILL, "worker child", 0.0),
    Fault(5, FILL, RUNS_DISK, 0.0, seconds=2.0),
    Fault(6, KILL, "follow", 0.0),
    Fault(7, FREEZE, "postgres", 0.0, seconds=4.0),
    Fault(8, CLOCK, CLOCK, 0.0, shift=90),
    Fault(9, KILL, "worker", 0.0),
)
"""The round of `make test`. The training is killed first, since few runs are launched.

tests/esweb/test_up.py kills the web, beat, Valkey and `up` itself; tests/workers/executors kills agents.
"""
