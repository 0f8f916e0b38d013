"""A pytest plugin: which worker of pytest-xdist runs which tests, with `-n N`.

Each worker has a PostgreSQL and a Valkey of its own (tests/servers.py). Tests of one file stay together, since they
share fixtures; all tests on Slurm stay together, and all on Ray, so that one cluster is started. The first worker runs
all tests of the browser before anything else, so that one browser is started.
"""

from __future__ import annotations

import contextlib
import os

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

BROWSER = "tests/browser/"
TOGETHER = ("tests/clusters/test_ray_", "tests/clusters/")
"""Files below a prefix form one unit; the first prefix that fits counts."""
LONGEST_FIRST = (
    "tests/clusters/",
    "tests/clusters/test_ray_",
    "tests/esweb/test_demo_end_to_end.py",
    "tests/chaos/test_faults.py",
    "tests/esweb/test_up.py",
    "tests/runs/launching/test_launch_trains.py",
    "tests/security/test_api_fuzz.py",
    "tests/workers/test_train_resumes.py",
)
"""Units that decide how long the whole takes, so they begin first."""


def unit_of(nodeid: str) -> str:
    """Return the unit that a test belongs to: a prefix of TOGETHER or its file."""
    return next((prefix for prefix in TOGETHER if nodeid.startswith(prefix)), nodeid.partition("::")[0])


class UnitScheduling(LoadScopeScheduling):
    """A scheduler that assigns units, the longest first; units of the browser come first, to the first worker only."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)

    def remove_node(self, node: WorkerController) -> str | None:
        """Return the test in which the worker crashed, if it did. It counts as run, the rest of the work is queued.

        LoadScopeScheduling queues that test too, so that it ends one worker after another.
        """
        work = self.assigned_work.pop(node)
        pending = [(unit, nodeid) for unit, tests in work.items() for nodeid, done in tests.items() if not done]
        if not pending:
            return None
        (unit, crashed), *rest = pending
        work[unit][crashed] = True
        self.workqueue.update({unit: work[unit] for unit, _ in rest})
        for other in self.nodes:
            self._reschedule(other)
        return crashed

    def _reschedule(self, node: WorkerController) -> None:
        super()._reschedule(node)
        # A worker runs its last test only when another follows, or when it shuts down.
        while not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            super()._reschedule(node)

    def _assign_work_unit(self, node: WorkerController) -> None:
        browser = [unit for unit in self.workqueue if unit.startswith(BROWSER)]
        others = [unit for unit in self.workqueue if not unit.startswith(BROWSER)]
        # If the first worker crashed, the next that takes work is first. If all others are shutting down, that is the
        # worker that pytest-xdist starts in its place.
        first = next(other for other in self.nodes if not other.shutting_down)
        suitable = (browser or others) if node is first else others
        if not suitable:
            node.shutdown()
            return
        self.workqueue.move_to_end(min(suitable, key=_rank), last=False)
        # A worker that has just crashed takes nothing. The unit counts as its work until pytest-xdist reports the
        # crash; remove_node then queues it again.
        with contextlib.suppress(OSError):
            super()._assign_work_unit(node)


def _rank(unit: str) -> int:
    return LONGEST_FIRST.index(unit) if unit in LONGEST_FIRST else len(LONGEST_FIRST)


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one more than cores: tests on clusters and in browsers wait. Each worker costs half a minute of a core."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> UnitScheduling:
    config.option.loadscopereorder = False
    return UnitScheduling(config, log)
