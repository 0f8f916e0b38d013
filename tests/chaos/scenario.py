"""The whole scenario: a site on which runs train, fault after fault, then a wait until all is settled."""

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

from tests import soak_plugin
from tests.chaos.clock import Clock
from tests.chaos.database_view import DatabaseView
from tests.chaos.injection import fill_resource, freeze_processes
from tests.chaos.launch_client import RunLauncher
from tests.chaos.plan import CLOCK, EVERYTHING, FREEZE, KILL, RUNS_DISK, STOP, Fault
from tests.chaos.process_watch import TrainingWatch
from tests.chaos.processes import SiteProcess
from tests.chaos.supervisor import Supervisor
from tests.chaos.victims import JOBS, VictimSelector, describe
from tests.chaos.visitor import HEALTH, Visitor, Visits
from tests.small_disks import SmallDisk
from tests.waiting import wait_until
from workers.executors.states import State

MAX_OPEN_RUNS = 4 if soak_plugin.SECONDS else 2
"""Number of runs that are open at any time: one or two of each method."""
WEB = frozenset({"web", "up", EVERYTHING})
PAGES = ("/", "/experiments/", "/queue/", "/services/")
CALLS = ("/api/v1/runs?limit=20", "/api/v1/experiments", HEALTH)
READY = "ready at"
POLL_SECONDS = 0.01


class ChaosScenario:
    """Faults of a site. `killed`: attempts with a killed agent or program; `starved`: attempts without disk space."""

    def __init__(
        self, supervisor: Supervisor, clock: Clock | None, log: Callable[[str], None], disks: Mapping[str, SmallDisk]
    ) -> None:
        self.supervisor, self.clock, self.log, self.disks = supervisor, clock, log, disks
        self.killed, self.starved = set[Path](), set[Path]()
        self.counts = Counter[str]()
        self.visits, self.visitors = Visits(), list[Visitor]()
        self.victims = VictimSelector(supervisor, self._restart_if_stopped)
        self.watch = TrainingWatch(supervisor)
        self.launcher: RunLauncher | None = None
        self._started_at = time.monotonic()

    @property
    def launched(self) -> list[str]:
        """Return the names of all runs so far."""
        assert self.launcher is not None
        return self.launcher.launched

    @property
    def table(self) -> str:
        """Return a line with the count of each fault, and a summary of the visitors' requests."""
        width = max(map(len, self.counts), default=0)
        lines = [f"{name:<{width}}  {count:>4}" for name, count in sorted(self.counts.items())]
        return "\n".join([*lines, f"{'all of them':<{width}}  {self.counts.total():>4}", self.visits.describe()])

    def start(self) -> None:
        """Start the site, launch the first runs and start the visitors."""
        self.supervisor.start()
        wait_until(lambda: READY in self.supervisor.output, "esweb to be ready", details=lambda: self.supervisor.output)
        with DatabaseView(self.supervisor.data) as database:
            database.shorten_restart_delays()
        self.launcher = RunLauncher(self.supervisor, MAX_OPEN_RUNS)
        pages, calls = cycle(PAGES), cycle(CALLS)
        reader = Visitor(self.supervisor, self.visits, lambda: next(pages))
        reader.sign_in(self.supervisor.output)
        self.visitors = [reader, Visitor(self.supervisor, self.visits, lambda: next(calls), self.launcher.token)]
        for helper in (self.launcher, self.watch, *self.visitors):
            helper.start()

    def inject(self, fault: Fault, wait_for_commit: Callable[[], object] = lambda: None) -> None:
        """Wait for the fault's time and phase, inject it and end it; start the site again if necessary.

        `wait_for_commit` is called when the victim is known, and returns when the fault is to happen.
        """
        self._wait(fault.wait)
        victims = self._select_victims(fault, wait_for_commit) if fault.kind in (KILL, FREEZE) else []
        details = describe(victims) if victims else ""
        with self.visits.web_is_down() if fault.victim in WEB else nullcontext():
            if fault.kind == KILL:
                self._kill(fault, victims)
            elif fault.kind == STOP:
                self._stop_site()
            elif fault.kind == CLOCK:
                assert self.clock is not None
                self.clock.move(fault.shift)
                details = f"it is {self.clock.offset_seconds:+d} s off now"
            else:
                cause = (
                    freeze_processes(victims)
                    if fault.kind == FREEZE
                    else fill_resource(self.supervisor, fault.victim, self.disks, self._restart_if_stopped)
                )
                self._hold(fault, cause)
        self.counts[fault.name] += 1
        self._log(f"{fault} {details}".rstrip())

    def wait_until_settled(self) -> None:
        """Wait until every run has finished and is read to its end. Only one last run is launched."""
        assert self.launcher is not None
        self.launcher.launch_last()
        self._log("resting")
        may_stop = True

        def has_changed(before: Sequence[str]) -> bool:
            nonlocal may_stop
            # One stop is allowed: the last fault too may have interrupted a start.
            assert self.supervisor.is_running or may_stop, self.supervisor.output
            may_stop &= self.supervisor.is_running
            self._restart_if_stopped()
            return self._unsettled() != before

        while unsettled := self._unsettled():
            wait_until(partial(has_changed, unsettled), "any run to come nearer to its end", details=self._unsettled)
        self.stop()

    def stop(self) -> None:
        """Stop the threads that this started."""
        for helper in (self.launcher, self.watch, *self.visitors):
            if helper is not None and helper.is_alive():
                helper.stop()

    def _select_victims(self, fault: Fault, wait_for_commit: Callable[[], object]) -> Sequence[SiteProcess]:
        """Return the victims, of which at least one still runs after `wait_for_commit`."""
        while True:
            victims = self.victims.select(fault, self._wait)
            wait_for_commit()
            if any(site_process.process.is_alive() for site_process in victims):
                return victims

    def _kill(self, fault: Fault, victims: Sequence[SiteProcess]) -> None:
        if fault.victim == EVERYTHING:
            victims = self.supervisor.kill_all()
        for site_process in victims:
            site_process.process.send(signal.SIGKILL)
        self.killed |= {site_process.folder for site_process in victims if site_process.role in JOBS}
        if fault.victim in ("up", EVERYTHING):
            self.supervisor.wait_until_stopped()
            self.supervisor.start()

    def _stop_site(self) -> None:
        """Stop the site as an administrator does, and start it again: running trainings are to resume by themselves."""
        wait_until(lambda: READY in self.supervisor.output, "esweb to be ready", details=lambda: self.supervisor.output)
        assert self.supervisor.stop() == 0, self.supervisor.output
        self.supervisor.wait_until_stopped()
        self.supervisor.start()

    def _hold(self, fault: Fault, cause: AbstractContextManager[None]) -> None:
        finished = {path.parent for path in self._attempts("exit.json")}
        with cause:
            self._wait(fault.seconds)
        if fault.victim == RUNS_DISK:
            self.starved |= {path for path in self._attempts("") if path not in finished}

    def _attempts(self, file: str) -> list[Path]:
        return list(self.supervisor.data.glob(f"runs/*/esweb-*/{file}"))

    def _wait(self, seconds: float, is_over: Callable[[], object] = lambda: False) -> None:
        """Wait for so long, or until `is_over()`, and repeat interrupted starts."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not is_over():
            self._restart_if_stopped()
            time.sleep(POLL_SECONDS)  # noqa: TID251  (lets time pass between two faults, and awaits nothing)

    def _restart_if_stopped(self) -> None:
        """Repeat a start that a fault interrupted, as a user would. Fail if `up` ended after it was ready."""
        assert self.launcher is not None and not self.launcher.refused, self.launcher and self.launcher.refused
        if not self.supervisor.is_running:
            assert READY not in self.supervisor.output, f"up has ended by itself:\n{self.supervisor.output}"
            self._log("a start was cut short, and is made again")
            with self.visits.web_is_down():
                self.supervisor.wait_until_stopped()
                self.supervisor.start()

    def _unsettled(self) -> Sequence[str]:
        try:
            with DatabaseView(self.supervisor.data) as database:
                attempts = database.attempts()
        except psycopg.OperationalError as error:
            return [str(error)]
        launched = {attempt["name"] for attempt in attempts}
        waiting = [a for a in attempts if not State(a["state"]).is_final or not a["drained_at"] or a["restart_at"]]
        return [f"{a['key']}: {a['state']}, {a['reason']}" for a in waiting] + sorted(set(self.launched) - launched)

    def _log(self, message: str) -> None:
        self.log(f"{time.monotonic() - self._started_at:7.1f} s | {message}")
