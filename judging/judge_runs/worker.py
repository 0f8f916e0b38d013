"""Asks a judge's server for a while: as many calls at once as it allows, until time is up or nothing is left.

Threads only speak HTTP; the database is written by whoever called `work`. Killed at any moment, it loses nothing: calls
whose leases run out are made again.
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
from judging.judge_runs.leases import Lease, Nothing, halt, release_lapsed, take
from judging.judge_runs.questions import fill
from judging.judge_runs.rate_limits import Limits
from judging.judges import KeyLost, server_of
from judging.locks import run_alone
from judging.model_judge import NotAllowed, Reply
from judging.models import Assignment

if TYPE_CHECKING:
    from judging.model_judge.client import Client

log = logging.getLogger(__name__)
LOCK = "esweb asks judges"
TICK_SECONDS = 20.0
"""Of one tick, for all assignments together; replies that are under way then are still waited for."""
LOOK_SECONDS = 0.2
"""How soon a pause, a cancel or a free place is noticed."""
WRONG = _("the judge cannot be asked as it is set up")


def work_on_all() -> None:
    """Continue every assignment that is running, each for its share of the time. Do nothing while another process does
    it. An assignment that fails does not keep the others waiting: the next tick tries it again."""
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
    """Asks for so many seconds, and for as long after as answers take that are under way. Seconds until more can be
    done, 0 where there is more now; None where this assignment is not running any more."""
    release_lapsed(assignment)
    assignment = Assignment.objects.select_related("judge__key", "gold_set").get(pk=assignment.pk)
    if assignment.state != Assignment.State.RUNNING:
        return None
    with ExitStack() as stack:
        try:
            client = stack.enter_context(_client(assignment))
        except (NotAllowed, KeyLost, ValueError) as error:
            halt(assignment, f"{WRONG}: {error}")
            return None
        pool = stack.enter_context(ThreadPoolExecutor(max(assignment.judge.at_once, 1)))
        left = _Desk(assignment, client, pool, time.monotonic() + seconds).run()
    return left if _goes_on(assignment) else None


@dataclass
class _Desk:
    """The calls that are under way, and from when on no more are made."""

    assignment: Assignment
    client: Client
    pool: ThreadPoolExecutor
    until: float
    flights: dict[Future[tuple[Reply | Exception, float]], Lease] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.limits = Limits(self.assignment.judge)

    def run(self) -> float:
        """Until time is up or nothing can be done. Seconds until more can."""
        while True:
            nothing = self._hand_out()
            if self.flights:
                self._take_in()
            elif nothing is None or not self._can_wait(nothing):
                return nothing.seconds or 0.0 if nothing else 0.0

    def _hand_out(self) -> Nothing | None:
        """Makes calls while there is room. Why no more can be made; None where there is no room, or no time."""
        while len(self.flights) < max(self.assignment.judge.at_once, 1) and time.monotonic() < self.until:
            taken = take(self.assignment, self.limits)
            if isinstance(taken, Lease):
                self.flights[self.pool.submit(_timed, self.client, taken)] = taken
            elif not (taken.is_out and fill(self.assignment)):
                return taken
        return None

    def _take_in(self) -> None:
        for done in wait(self.flights, LOOK_SECONDS, FIRST_COMPLETED).done:
            came, seconds = done.result()
            settle(self.assignment, self.flights.pop(done), came, self.limits, seconds)

    def _can_wait(self, nothing: Nothing) -> bool:
        """Waits a little for a limit; False where that takes too long, or nothing is waited for."""
        if nothing.seconds is None or time.monotonic() + nothing.seconds > self.until:
            return False
        time.sleep(min(nothing.seconds, LOOK_SECONDS))
        return True


def _timed(client: Client, lease: Lease) -> tuple[Reply | Exception, float]:
    """What came of a call, and the seconds that it took. In a thread of its own."""
    begun = time.monotonic()
    try:
        came: Reply | Exception = client.ask(lease.request)
    except Exception as error:  # handed to whoever settles, who raises what is a fault of ours
        came = error
    return came, time.monotonic() - begun


def _client(assignment: Assignment) -> Client:
    # Slow to import, and needed by nobody who only shows pages.
    from judging.model_judge.client import Client

    return Client(server_of(assignment.judge))


def _goes_on(assignment: Assignment) -> bool:
    """Ends it where nothing is left, and measures what it was to measure."""
    # Together: one that is done has been measured.
    with transaction.atomic():
        is_done = finish(assignment)
        if is_done and assignment.gold_set is not None:
            measure(assignment)
    return not is_done and Assignment.objects.filter(pk=assignment.pk, state=Assignment.State.RUNNING).exists()
