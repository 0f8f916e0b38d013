"""`manage.py follow`: import the records of local runs into the database, until it is stopped."""

from __future__ import annotations

import logging
import signal
import threading
from typing import Any

from django.core.management.base import CommandParser
from django.db import InterfaceError, OperationalError, connections

from runs.ingest import Follower
from runs.launching.reconcile import LateTicks
from runs.management.quick_command import QuickCommand
from runs.management.standby import OPTION, await_turn

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.2
IDLE_LOOK_SECONDS = 1.0
"""The same while no attempt is followed: a trainer takes seconds from its start to its first record."""
RETRY_SECONDS = 0.5
MAX_RETRY_SECONDS = 1.0
"""Trying costs next to nothing: a PostgreSQL that is away refuses, and one that recovers says so."""


class Command(QuickCommand):
    """Command that runs next to the web server; `manage.py up` starts it."""

    help = "Follow the files of runs on this machine and store their records in the database."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="store the existing records and exit")
        parser.add_argument(
            "--tick",
            action="store_true",
            help="update the states of this machine's runs while no worker does; only where it sees their processes",
        )

        parser.add_argument(OPTION, action="store_true", help="load, and begin when the supervisor gives the turn")

    def handle(self, *, once: bool, tick: bool, standby: bool, **_: Any) -> None:
        if standby:
            await_turn()
        follower = Follower()
        if once:
            while follower.look():
                pass
            return
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        follow(follower, stop, LateTicks() if tick else None)


def follow(follower: Follower, stop: threading.Event, ticks: LateTicks | None = None) -> None:
    """Poll until `stop` is set. While the database is unreachable, wait and log this once."""
    wait, is_away = LOOK_SECONDS, False
    while not stop.wait(wait):
        if ticks is not None:
            # First: a full disk may refuse new records, and still take the state of a run that ended.
            ticks.tick_if_late()
        try:
            follower.look()
        except (OperationalError, InterfaceError) as error:
            if not is_away:
                log.warning("Follower lost PostgreSQL; retrying until it is back: %s", error)
            connections.close_all()
            wait = min(2 * wait, MAX_RETRY_SECONDS) if is_away else RETRY_SECONDS
            is_away = True
        else:
            if is_away:
                log.warning("Follower reached PostgreSQL again; polling continues")
            wait, is_away = LOOK_SECONDS if follower.is_following else IDLE_LOOK_SECONDS, False
    connections.close_all()
