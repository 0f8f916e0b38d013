"""Ask a judge's server for a limited time: as many concurrent calls as its limits allow, until the deadline or until
nothing is left.

Threads only send HTTP requests; the caller of `work` writes to the database. A worker that is killed loses nothing:
calls whose leases lapse are made again.
"""

from __future__ import annotations

import logging
import random
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext_noop as _

from judging.judge_runs.calibration import measure
from judging.judge_runs.completion import finish, settle
from judging.judge_runs.leases import Lease, NoLease, halt, release_lapsed, take_lease
from judging.judge_runs.questions import fill
from judging.judge_runs.rate_limits import JudgeRateLimiter
from judging.judges import KeyLost, server_of
from judging.locks import run_alone
from judging.model_judge import HostNotAllowed, Reply
from judging.models import Assignment

if TYPE_CHECKING:
    from judging.model_judge.client import Client

log = logging.getLogger(__name__)
LOCK = "esweb asks judges"
TICK_SECONDS = 20.0
"""The time of one tick, for all assignments together; replies under way at its end are still awaited."""
POLL_SECONDS = 0.2
"""The delay after which a pause, a cancel or a free slot is noticed."""
CONFIG_ERROR = _("the judge's settings are invalid")


def work_on_all() -> None:
    """Continue every assignment that is running, each for its share of the time. Do nothing while another process does
    it. An assignment that fails does not block the others: the next tick tries it again."""
    running = list(Assignment.objects.filter(state=Assignment.State.RUNNING))
    if not running:
        return
    with run_alone(LOCK) as is_alone:
        if not is_alone:
            return
        for assignment in random.sample(running, len(running)):
            try:
                work(assignment, TICK_SECONDS / len(running))
            except Exception:
                log.exception("Assignment %s cannot be continued now: the next tick tries again", assignment.pk)


def work(assignment: Assignment, seconds: float) -> float | None:
    """Ask questions for so many seconds, and for as long after as replies under way take.

    Return the seconds until more can be done, 0 if there is more now; None if this assignment is not running any more.
    """
    release_lapsed(assignment)
    assignment = Assignment.objects.select_related("judge__key", "gold_set").get(pk=assignment.pk)
    if assignment.state != Assignment.State.RUNNING:
        return None
    with ExitStack() as stack:
        try:
            client = stack.enter_context(_client(assignment))
        except (HostNotAllowed, KeyLost, ValueError) as error:
            halt(assignment, f"{CONFIG_ERROR}: {error}")
            return None
        pool = stack.enter_context(ThreadPoolExecutor(max(assignment.judge.at_once, 1)))
        wait_seconds = _CallLoop(assignment, client, pool, time.monotonic() + seconds).run()
    return wait_seconds if _finish_if_done(assignment) else None


@dataclass
class _CallLoop:
    """The calls under way, and the deadline after which no more are made."""

    assignment: Assignment
    client: Client
    pool: ThreadPoolExecutor
    until: float
    running_calls: dict[Future[tuple[Reply | Exception, float]], Lease] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.limits = JudgeRateLimiter(self.assignment.judge)

    def run(self) -> float:
        """Process questions until the deadline or until none is ready. Return the seconds to wait."""
        while True:
            no_lease = self._submit_calls()
            if self.running_calls:
                self._settle_finished()
            elif no_lease is None or not self._can_wait(no_lease):
                return no_lease.seconds or 0.0 if no_lease else 0.0

    def _submit_calls(self) -> NoLease | None:
        """Submit calls while there is room. Return the result that no more can be made now; None if there is no room,
        or no time."""
        while len(self.running_calls) < max(self.assignment.judge.at_once, 1) and time.monotonic() < self.until:
            lease = take_lease(self.assignment, self.limits)
            if isinstance(lease, Lease):
                self.running_calls[self.pool.submit(_ask_timed, self.client, lease)] = lease
            elif not (lease.is_out and fill(self.assignment)):
                return lease
        return None

    def _settle_finished(self) -> None:
        for future in wait(self.running_calls, POLL_SECONDS, FIRST_COMPLETED).done:
            result, seconds = future.result()
            settle(self.assignment, self.running_calls.pop(future), result, self.limits, seconds)

    def _can_wait(self, no_lease: NoLease) -> bool:
        """Wait briefly for a limit. Return False if that takes too long, or if no limit is awaited."""
        if no_lease.seconds is None or time.monotonic() + no_lease.seconds > self.until:
            return False
        time.sleep(min(no_lease.seconds, POLL_SECONDS))
        return True


def _ask_timed(client: Client, lease: Lease) -> tuple[Reply | Exception, float]:
    """Return the result of a call, and the seconds that it took. Runs in a worker thread."""
    started_at = time.monotonic()
    try:
        result: Reply | Exception = client.ask(lease.request)
    except Exception as error:  # `settle` raises it again if it is an error of our own
        result = error
    return result, time.monotonic() - started_at


def _client(assignment: Assignment) -> Client:
    # Slow to import, and not needed by processes that only show pages.
    from judging.model_judge.client import Client

    return Client(server_of(assignment.judge))


def _finish_if_done(assignment: Assignment) -> bool:
    """End the assignment and calibrate the judge if no questions are left. Return whether the assignment is still
    running."""
    # In one transaction: a finished assignment is always calibrated.
    with transaction.atomic():
        is_done = finish(assignment)
        if is_done and assignment.gold_set is not None:
            measure(assignment)
    return not is_done and Assignment.objects.filter(pk=assignment.pk, state=Assignment.State.RUNNING).exists()
