"""What goes wrong, when: a pure function of a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

KILL, FREEZE, FILL, CLOCK = "kill", "freeze", "fill", "clock"
ALL_OF_IT = "everything"
KILLS = (
    *("web", "worker", "worker child", "beat", "follow", "postgres", "postgres child", "valkey", "agent", "training"),
    *("up", ALL_OF_IT),
)
FREEZES = ("web", "worker child", "beat", "follow", "postgres", "valkey", "agent")
RUNS_DISK, DATABASE_DISK, VALKEY_MEMORY = "disk of the runs", "disk of the database", "memory of valkey"
MOMENTS = ("submitting", "loading", "training", "saving", "ending")
SHIFTS = (-3 * 3600, -90, 90, 3 * 3600)
"""Seconds by which the clock is set, back and forth."""
VERBS = {KILL: "killed", FREEZE: "frozen", FILL: "full", CLOCK: "set"}

Kind = tuple[str, str]
"""What happens, and to what: `("freeze", "web")`."""


@dataclass(frozen=True)
class Fault:
    """Something that goes wrong `wait` seconds after the fault before is over.

    A kill waits, where `moment` is one, until some attempt is at it; `which` (0 ≤ it < 1) chooses among several
    processes. What is frozen or full is so for `seconds`. The clock is set by `shift` seconds.
    """

    number: int
    kind: str
    victim: str
    wait: float
    moment: str = ""
    which: float = 0.0
    seconds: float = 0.0
    shift: int = 0

    def __str__(self) -> str:
        details = {KILL: self.moment and f", while {self.moment}", CLOCK: f" {self.shift:+d} s"}
        return f"{self.number:>3} | {self.name}{details.get(self.kind, f' for {self.seconds:.1f} s')}"

    @property
    def name(self) -> str:
        """What happens, in the words of the table at the end."""
        return f"{self.victim} {VERBS[self.kind]}"


def every_kind(*, with_clock: bool, with_disks: bool) -> list[Kind]:
    """Return what a round holds: each kill and freeze, what can be full, and the clock set twice."""
    full = (VALKEY_MEMORY, *((RUNS_DISK, DATABASE_DISK) if with_disks else ()))
    return [
        *((KILL, victim) for victim in KILLS),
        *((FREEZE, victim) for victim in FREEZES),
        *((FILL, victim) for victim in full),
        *([(CLOCK, CLOCK)] * 2 if with_clock else []),
    ]


def faults(
    seed: int, kinds: Sequence[Kind], *, moments: Sequence[str] = ("", *MOMENTS), longest_wait: float = 3.0
) -> Iterator[Fault]:
    """Yield faults without end: round after round all of these kinds, in an order of its own."""
    chance, number = random.Random(seed), 0
    while True:
        for kind, victim in chance.sample(kinds, len(kinds)):
            number += 1
            yield Fault(
                number, kind, victim,
                wait=chance.uniform(0.0, longest_wait),
                moment=chance.choice(moments) if kind == KILL else "",
                which=chance.random(),
                seconds=chance.uniform(1.0, 8.0) if kind in (FREEZE, FILL) else 0.0,
                shift=chance.choice(SHIFTS) if kind == CLOCK else 0,
            )  # fmt: skip
