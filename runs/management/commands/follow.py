"""`manage.py follow`: import the records of local runs into the database, until it is stopped."""

from __future__ import annotations

import logging
import signal
import threading
from typing import Any

from django.core.management.base import CommandParser
from django.db import InterfaceError, OperationalError, connections

from runs.ingest import Follower
from runs.management.quick_command import QuickCommand

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.2
RETRY_SECONDS = 0.5
MAX_RETRY_SECONDS = 5.0


class Command(QuickCommand):
    """Command that runs next to the web server; `manage.py up` starts it."""

    help = "Follow the files of runs on this machine and store their records in the database."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--once", action="store_true", help="store the existing records and exit")

    def handle(self, *, once: bool, **_: Any) -> None:
        follower = Follower()
        if once:
            while follower.look():
                pass
            return
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        follow(follower, stop)


def follow(follower: Follower, stop: threading.Event) -> None:
    """Poll until `stop` is set. While the database is unreachable, wait and log this once."""
    wait = LOOK_SECONDS
    while not stop.wait(wait):
        try:
            follower.look()
        except (OperationalError, InterfaceError) as error:
            if wait == LOOK_SECONDS:
                log.warning("Follower lost PostgreSQL; retrying until it is back: %s", error)
            connections.close_all()
            wait = min(max(2 * wait, RETRY_SECONDS), MAX_RETRY_SECONDS)
        else:
            if wait != LOOK_SECONDS:
                log.warning("Follower reached PostgreSQL again; polling continues")
            wait = LOOK_SECONDS
    connections.close_all()
