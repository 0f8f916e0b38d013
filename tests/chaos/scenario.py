"""The whole of it: a house in which runs train, fault after fault, then rest."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import cycle
from pathlib import Path

import psycopg

from tests import soaking
from tests.chaos.clock import Clock
from tests.chaos.database_view import Books
from tests.chaos.injection import frozen, full
from tests.chaos.launch_client import Launcher
from tests.chaos.plan import ALL_OF_IT, CLOCK, FREEZE, KILL, RUNS_DISK, Fault
from tests.chaos.process_watch import Watch
from tests.chaos.processes import Resident
from tests.chaos.site_process import House
from tests.chaos.victims import JOBS, Victims, described
from tests.chaos.visitor import HEALTH, Visitor, Visits
from tests.small_disks import SmallDisk
from tests.waiting import wait_until
from workers.executors.states import State

GOING = 4 if soaking.SECONDS else 2
"""How many runs are open at any time: of each method one, or two."""
WEB = frozenset({"web", "up", ALL_OF_IT})
PAGES = ("/", "/experiments/", "/queue/", "/services/")
CALLS = ("/api/v1/runs?limit=20", "/api/v1/experiments", HEALTH)
READY = "ready at"
LOOK_SECONDS = 0.01


class Chaos:
    """Makes one house fail. `hit`: attempts whose agent or program was killed; `starved`: those without disk space."""

    def __init__(
        self, house: House, clock: Clock | None, tell: Callable[[str], None], disks: Mapping[str, SmallDisk]
    ) -> None:
        self.house, self.clock, self.tell, self.disks = house, clock, tell, disks
        self.hit, self.starved = set[Path](), set[Path]()
        self.counts = Counter[str]()
        self.visits, self.visitors = Visits(), list[Visitor]()
        self.victims = Victims(house, self._tend)
        self.watch = Watch(house)
        self.launcher: Launcher | None = None
        self._began = time.monotonic()

    @property
    def launched(self) -> list[str]:
        """The names of all runs so far."""
        assert self.launcher is not None
        return self.launcher.launched

    @property
    def table(self) -> str:
        """How often each fault was injected, a line each, and how visitors were answered."""
        width = max(map(len, self.counts), default=0)
        lines = [f"{name:<{width}}  {count:>4}" for name, count in sorted(self.counts.items())]
        return "\n".join([*lines, f"{'all of them':<{width}}  {self.counts.total():>4}", self.visits.summary()])

    def begin(self) -> None:
        """Open the house, launch the first runs and let the visitors in."""
        self.house.open()
        wait_until(lambda: READY in self.house.said, "esweb to be ready", details=lambda: self.house.said)
        with Books(self.house.data) as books:
            books.hasten_restarts()
        self.launcher = Launcher(self.house, GOING)
        pages, calls = cycle(PAGES), cycle(CALLS)
        reader = Visitor(self.house, self.visits, lambda: next(pages))
        reader.sign_in(self.house.said)
        token = self.house.manage("createtoken", "admin", "--scope", "read")
        self.visitors = [reader, Visitor(self.house, self.visits, lambda: next(calls), token)]
        for helper in (self.launcher, self.watch, *self.visitors):
            helper.start()

    def inject(self, fault: Fault, await_moment: Callable[[], object] = lambda: None) -> None:
        """Wait for its moment, then let it happen and end; what must be opened again is.

        `await_moment` is called when the victim is known, and returns when the fault is to happen.
        """
        self._let_time_pass(fault.wait)
        chosen = self._victims(fault, await_moment) if fault.kind in (KILL, FREEZE) else []
        about = described(chosen) if chosen else ""
        with self.visits.web_is_down() if fault.victim in WEB else nullcontext():
            if fault.kind == KILL:
                self._kill(fault, chosen)
            elif fault.kind == CLOCK:
                assert self.clock is not None
                self.clock.move(fault.shift)
                about = f"it is {self.clock.moved:+d} s off now"
            else:
                cause = (
                    frozen(chosen) if fault.kind == FREEZE else full(self.house, fault.victim, self.disks, self._tend)
                )
                self._endure(fault, cause)
        self.counts[fault.name] += 1
        self._say(f"{fault} {about}".rstrip())

    def rest(self) -> None:
        """Return once every run has ended and is read to its end. Nothing is launched any more, but for the last."""
        assert self.launcher is not None
        self.launcher.one_more()
        self._say("resting")
        may_end = True

        def has_changed(before: Sequence[str]) -> bool:
            nonlocal may_end
            # Once: the last fault too may have cut a start short.
            assert self.house.is_open or may_end, self.house.said
            may_end &= self.house.is_open
            self._tend()
            return self._unsettled() != before

        while unsettled := self._unsettled():
            wait_until(partial(has_changed, unsettled), "any run to come nearer to its end", details=self._unsettled)
        self.end()

    def end(self) -> None:
        """Stop what this started, whatever happened."""
        for helper in (self.launcher, self.watch, *self.visitors):
            if helper is not None and helper.is_alive():
                helper.stop()

    def _victims(self, fault: Fault, await_moment: Callable[[], object]) -> Sequence[Resident]:
        """Return those of which one at least still lives after that moment has come."""
        while True:
            chosen = self.victims.of(fault, self._let_time_pass)
            await_moment()
            if any(resident.process.is_alive() for resident in chosen):
                return chosen

    def _kill(self, fault: Fault, chosen: Sequence[Resident]) -> None:
        if fault.victim == ALL_OF_IT:
            chosen = self.house.kill_everything()
        for resident in chosen:
            resident.process.send(signal.SIGKILL)
        self.hit |= {resident.folder for resident in chosen if resident.role in JOBS}
        if fault.victim in ("up", ALL_OF_IT):
            self.house.await_ruin()
            self.house.open()

    def _endure(self, fault: Fault, cause: AbstractContextManager[None]) -> None:
        ended = {path.parent for path in self._attempts("exit.json")}
        with cause:
            self._let_time_pass(fault.seconds)
        if fault.victim == RUNS_DISK:
            self.starved |= {path for path in self._attempts("") if path not in ended}

    def _attempts(self, file: str) -> list[Path]:
        return list(self.house.data.glob(f"runs/*/esweb-*/{file}"))

    def _let_time_pass(self, seconds: float, has_come: Callable[[], object] = lambda: False) -> None:
        """Tend the house for so long, or until that moment has come."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not has_come():
            self._tend()
            time.sleep(LOOK_SECONDS)  # noqa: TID251  (lets time pass between two faults, and awaits nothing)

    def _tend(self) -> None:
        """Make a start that a fault cut short again, as a person would. Once it was ready, `up` ends by no fault."""
        assert self.launcher is not None and not self.launcher.refused, self.launcher and self.launcher.refused
        if not self.house.is_open:
            assert READY not in self.house.said, f"up has ended by itself:\n{self.house.said}"
            self._say("a start was cut short, and is made again")
            with self.visits.web_is_down():
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
