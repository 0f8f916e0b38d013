"""What is hit, when: a pure function of a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

VICTIMS = ("web", "worker", "beat", "follow", "postgres", "valkey", "agent", "training", "up", "everything")
CLOCK = "clock"
MOMENTS = ("submitting", "loading", "training", "saving", "ending")
SHIFTS = (-3 * 3600, -90, 90, 3 * 3600)
"""Seconds by which the clock is set, back and forth."""


@dataclass(frozen=True)
class Blow:
    """A kill, or where the victim is the clock, a shift of `shift` seconds.

    It falls `wait` seconds after the one before, then, where `moment` is one, as soon as some attempt is at it; `which`
    (0 ≤ it < 1) chooses among several.
    """

    number: int
    victim: str
    wait: float
    moment: str = ""
    which: float = 0.0
    shift: int = 0

    def __str__(self) -> str:
        when = f", while {self.moment}" if self.moment else ""
        what = f"set {self.shift:+d} s" if self.victim == CLOCK else "killed"
        return f"{self.number:>3} | {self.victim} {what}{when}"


def blows(seed: int, *, with_clock: bool) -> Iterator[Blow]:
    """Yield blows without end: every victim once a round, in an order of its own, and the clock set twice."""
    chance, number = random.Random(seed), 0
    while True:
        for victim in _round(chance, with_clock):
            if victim == CLOCK:
                yield Blow(number, CLOCK, chance.uniform(0.0, 1.0), shift=chance.choice(SHIFTS))
            else:
                number += 1
                moment = chance.choice(("", *MOMENTS))
                yield Blow(number, victim, chance.uniform(0.0, 3.0), moment, chance.random())


def _round(chance: random.Random, with_clock: bool) -> list[str]:
    victims = [*VICTIMS, *([CLOCK, CLOCK] if with_clock else [])]
    return chance.sample(victims, len(victims))
