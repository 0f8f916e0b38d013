"""Which processes of a house a fault is for, and what has been killed while it did what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tests.chaos.attempt_progress import Moments
from tests.chaos.plan import ALL_OF_IT, FREEZE, Fault
from tests.chaos.processes import Resident, named
from tests.chaos.site_process import House
from tests.waiting import wait_until

JOBS = frozenset({"agent", "training"})
MOMENT_SECONDS = 5.0


class Victims:
    """Chooses among the processes of one house. `tend` is called meanwhile; it starts what has ended by itself."""

    def __init__(self, house: House, tend: Callable[[], None]) -> None:
        self.house, self.tend = house, tend
        self.moments = Moments(house.data / "runs")

    def of(self, fault: Fault, pass_time: Callable[[float, Callable[[], object]], None]) -> Sequence[Resident]:
        """Return them once they live and some attempt is at the fault's moment, or has not come to it for 5 s.

        They are all processes of PostgreSQL where it is frozen, everything where everything is killed, otherwise one.
        `pass_time(seconds, has_come)` lets time pass until `has_come()`.
        """
        chosen: list[Resident] = []

        def choose_at_its_moment() -> bool:
            at_it = {path for path, moment in self.moments.now().items() if moment == fault.moment}
            chosen[:] = self._choose(fault, at_it) if at_it else []
            return bool(chosen)

        if fault.moment:
            pass_time(MOMENT_SECONDS, choose_at_its_moment)
        return chosen or wait_until(partial(self._choose_any, fault), f"a process: {fault.name}")

    def _choose_any(self, fault: Fault) -> list[Resident]:
        self.tend()
        return self._choose(fault, set())

    def _choose(self, fault: Fault, at_it: set[Path]) -> list[Resident]:
        """Return nothing where none lives."""
        if fault.victim == ALL_OF_IT:
            return self.house.living()
        living = named(fault.victim, self.house.living())
        if fault.victim in JOBS:
            living = [resident for resident in living if resident.folder in at_it] or living
        if fault.kind == FREEZE and fault.victim == "postgres":
            # Its parent first: one that finds a child gone ends all the others.
            return living + named("postgres child", self.house.living())
        return [living[int(fault.which * len(living))]] if living else []


def described(chosen: Sequence[Resident]) -> str:
    """Name one process; of several, say how many they are."""
    if len(chosen) != 1:
        return f"{len(chosen)} processes"
    (resident,) = chosen
    return f"process {resident.process.pid}" + (f" of {resident.folder.name}" if resident.role in JOBS else "")
