"""The whole of it: a house with four runs going, blow after blow, then rest."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import psycopg

from tests import soaking
from tests.chaos.books import Books
from tests.chaos.clock import Clock
from tests.chaos.house import House
from tests.chaos.launching import Launcher
from tests.chaos.moments import Moments
from tests.chaos.plan import CLOCK, Blow
from tests.chaos.residents import Resident
from tests.chaos.watch import Watch
from tests.waiting import wait_until
from workers.executors.states import State

GOING = 4 if soaking.SECONDS else 2
"""How many runs are open at any time: of each method one, or two."""
JOBS = frozenset({"agent", "training"})
PARENTS = 0.5
MOMENT_SECONDS = 5.0
LOOK_SECONDS = 0.01


class Chaos:
    """Strikes one house. `hit`: the attempts whose agent or program was killed."""

    def __init__(self, house: House, clock: Clock | None, tell: Callable[[str], None]) -> None:
        self.house, self.clock, self.tell = house, clock, tell
        self.hit: set[Path] = set()
        self.kills = 0
        self.moments = Moments(house.data / "runs")
        self.watch = Watch(house)
        self.launcher: Launcher | None = None
        self._began = time.monotonic()

    @property
    def launched(self) -> list[str]:
        """The names of all runs so far."""
        assert self.launcher is not None
        return self.launcher.launched

    def begin(self) -> None:
        """Opens the house and launches the first runs."""
        self.house.open()
        wait_until(
            lambda: "ready at" in self.house.console.read_text(),
            "esweb to be ready",
            details=self.house.console.read_text,
        )
        with Books(self.house.data) as books:
            books.hasten_restarts()
        self.launcher = Launcher(self.house, GOING)
        self.launcher.start()
        self.watch.start()

    def strike(self, blow: Blow) -> None:
        """Waits for its moment, then lets it fall; what must be opened again is."""
        self._let_time_pass(blow.wait)
        if blow.victim == CLOCK:
            assert self.clock is not None
            self.clock.move(blow.shift)
            self._say(f"{blow}; it is {self.clock.moved:+d} s off now")
            return
        chosen = self._await(blow)
        if chosen is None:
            hit = self.house.kill_everything()
        else:
            chosen.process.send(signal.SIGKILL)
            hit = [chosen]
        self.hit |= {resident.folder for resident in hit if resident.role in JOBS}
        self.kills += 1
        self._say(f"{blow}: {_who(chosen)}")
        self._open_again(blow)

    def rest(self) -> None:
        """Returns once every run has ended and is read to its end. Nothing is launched any more, but for the last."""
        assert self.launcher is not None
        self.launcher.one_more()
        self._say("resting")
        may_end = True

        def has_changed(before: Sequence[str]) -> bool:
            nonlocal may_end
            # Once: the last blow too may have cut a start short.
            assert self.house.is_open or may_end, self.house.console.read_text()
            may_end &= self.house.is_open
            self._tend()
            return self._unsettled() != before

        while unsettled := self._unsettled():
            wait_until(partial(has_changed, unsettled), "any run to come nearer to its end", details=self._unsettled)
        self.end()

    def end(self) -> None:
        """Stops what this started, whatever happened."""
        for helper in (self.launcher, self.watch):
            if helper is not None and helper.is_alive():
                helper.stop()

    def _let_time_pass(self, seconds: float, has_come: Callable[[], object] = lambda: False) -> None:
        """Tend the house for so long, or until that moment has come."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not has_come():
            self._tend()
            time.sleep(LOOK_SECONDS)  # noqa: TID251  (lets time pass between two blows, and awaits nothing)

    def _tend(self) -> None:
        """A start that a blow cut short is made again, as a person would."""
        assert self.launcher is not None and not self.launcher.refused, self.launcher and self.launcher.refused
        if not self.house.is_open:
            self._say("up has ended by itself, and is started again")
            self.house.await_ruin()
            self.house.open()

    def _await(self, blow: Blow) -> Resident | None:
        """The victim, once it lives and some attempt is at that moment; where none comes to it, any moment will do."""
        chosen: list[Resident | None] = []

        def choose_at_its_moment() -> bool:
            at_it = {path for path, moment in self.moments.now().items() if moment == blow.moment}
            chosen[:] = self._choose(blow, at_it) if at_it else []
            return bool(chosen)

        if blow.moment:
            self._let_time_pass(MOMENT_SECONDS, choose_at_its_moment)
        if not chosen:
            chosen = wait_until(partial(self._choose_any, blow), f"a process to kill: {blow.victim}")
        return chosen[0]

    def _choose_any(self, blow: Blow) -> list[Resident | None]:
        self._tend()
        return self._choose(blow, set())

    def _choose(self, blow: Blow, at_it: set[Path]) -> list[Resident | None]:
        """Return one of its processes, None for all of them, or nothing where none lives.

        Of a server it is every second time the process that all others come from.
        """
        if blow.victim == "everything":
            return [None]
        living = self.house.living(blow.victim)
        if blow.victim in JOBS:
            living = [resident for resident in living if resident.folder in at_it] or living
        elif blow.which < PARENTS:
            living = living[:1]
        return [living[int(blow.which * len(living))]] if living else []

    def _open_again(self, blow: Blow) -> None:
        if blow.victim in ("up", "everything"):
            self.house.await_ruin()
            self.house.open()

    def _unsettled(self) -> Sequence[str]:
        try:
            with Books(self.house.data) as books:
                attempts = books.attempts()
        except psycopg.OperationalError as error:
            return [str(error)]
        launched = {attempt["name"] for attempt in attempts}
        waiting = [a for a in attempts if not State(a["state"]).is_final or not a["drained_at"] or a["restart_at"]]
        return [f"{a['key']}: {a['state']}, {a['reason']}" for a in waiting] + sorted(set(self.launched) - launched)

    def _say(self, what: str) -> None:
        self.tell(f"{time.monotonic() - self._began:7.1f} s | {what}")


def _who(chosen: Resident | None) -> str:
    if chosen is None:
        return "all of it"
    return f"process {chosen.process.pid}" + (f" of {chosen.folder.name}" if chosen.role in JOBS else "")
