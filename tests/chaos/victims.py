"""Select the processes of a site that a fault hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tests.chaos.attempt_progress import Phases
from tests.chaos.plan import EVERYTHING, FREEZE, Fault
from tests.chaos.processes import SiteProcess, select_processes
from tests.chaos.supervisor import Supervisor
from tests.waiting import wait_until

JOBS = frozenset({"agent", "training"})
PHASE_SECONDS = 5.0


class VictimSelector:
    """Select victims among the processes of one site. `restart_if_stopped` is called while it waits."""

    def __init__(self, supervisor: Supervisor, restart_if_stopped: Callable[[], None]) -> None:
        self.supervisor, self.restart_if_stopped = supervisor, restart_if_stopped
        self.phases = Phases(supervisor.data / "runs")

    def select(self, fault: Fault, wait: Callable[[float, Callable[[], object]], None]) -> Sequence[SiteProcess]:
        """Return the victims once they run and some attempt is in the fault's phase, or none reached it in 5 s.

        They are all processes of PostgreSQL if it is frozen, all processes if everything is killed, otherwise one.
        `wait(seconds, is_over)` waits until `is_over()`.
        """
        victims: list[SiteProcess] = []

        def choose_in_phase() -> bool:
            directories = {path for path, phase in self.phases.current().items() if phase == fault.phase}
            victims[:] = self._choose(fault, directories) if directories else []
            return bool(victims)

        if fault.phase:
            wait(PHASE_SECONDS, choose_in_phase)
        return victims or wait_until(partial(self._choose_any, fault), f"a process: {fault.name}")

    def _choose_any(self, fault: Fault) -> list[SiteProcess]:
        self.restart_if_stopped()
        return self._choose(fault, set())

    def _choose(self, fault: Fault, directories: set[Path]) -> list[SiteProcess]:
        """Return the victims, or an empty list if none runs."""
        if fault.victim == EVERYTHING:
            return self.supervisor.processes()
        candidates = select_processes(fault.victim, self.supervisor.processes())
        if fault.victim in JOBS:
            candidates = [
                site_process for site_process in candidates if site_process.folder in directories
            ] or candidates
        if fault.kind == FREEZE and fault.victim == "postgres":
            # The parent first: a parent that finds a child gone ends all the others.
            return candidates + select_processes("postgres child", self.supervisor.processes())
        return [candidates[int(fault.choice * len(candidates))]] if candidates else []


def describe(victims: Sequence[SiteProcess]) -> str:
    """Describe one process by its pid, several by their number."""
    if len(victims) != 1:
        return f"{len(victims)} processes"
    (site_process,) = victims
    return f"process {site_process.process.pid}" + (
        f" of {site_process.folder.name}" if site_process.role in JOBS else ""
    )
