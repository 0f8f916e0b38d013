"""Check whether the site can work, for `up`, load balancers and users.

A frozen server neither answers nor refuses, so each is queried in a thread, and the answer is awaited for a limited
time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import redis
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.request import split_domain_port
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from esweb.bootstrap.disk_room import watch
from esweb.database.base import DatabaseWrapper

ADDRESS = "/healthz"
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
OK, SILENT = "ok", "does not answer"
ANSWER_SECONDS = 1.5
"""The time in which both servers, queried concurrently, must answer."""
BUSY_ANSWER_SECONDS = 6.0
"""The time that the outage guard gives them where processes of this machine wait for a core."""
CPU_PRESSURE = Path("/proc/pressure/cpu")
"""Linux's file with the time for which processes have waited for a core. Other systems have none."""
BUSY_SHARE = 0.3
"""Share of a check for which a process has waited for a core, above which the machine is busy."""


class Probe:
    """Query a server in one thread at most: a query that hangs is awaited, not repeated."""

    def __init__(self, ask: Callable[[], None], errors: type[Exception]) -> None:
        self._ask, self._errors = ask, errors
        self._lock = threading.Lock()
        self._question: _Question | None = None

    def start(self) -> _Question:
        """Return the question under way, or a new one."""
        with self._lock:
            if self._question is None or self._question.is_over.is_set():
                self._question = _Question(self._ask, self._errors)
            return self._question


class _Question:
    def __init__(self, ask: Callable[[], None], errors: type[Exception]) -> None:
        self.answer, self.is_over = SILENT, threading.Event()
        self._ask, self._errors = ask, errors
        # The thread is a daemon, so that a frozen server does not keep the web process from ending.
        threading.Thread(target=self._run, name="health", daemon=True).start()

    def _run(self) -> None:
        try:
            self._ask()
            self.answer = OK
        except self._errors:
            pass
        finally:
            self.is_over.set()

    def answer_by(self, deadline: float) -> str:
        """Return the answer, or that there is none at this reading of the monotonic clock."""
        self.is_over.wait(max(0.0, deadline - time.monotonic()))
        return self.answer


def _ask_database() -> None:
    # A separate connection: those of the pool may all be waiting for the server.
    params = {**connection.get_connection_params(), "connect_timeout": round(BUSY_ANSWER_SECONDS)}
    with psycopg.connect(**params, autocommit=True) as own:
        own.execute("SELECT 1")


def _ask_redis() -> None:
    limits = {"socket_timeout": BUSY_ANSWER_SECONDS, "socket_connect_timeout": BUSY_ANSWER_SECONDS}
    with redis.from_url(settings.CACHES["default"]["LOCATION"], **limits) as client:
        client.ping()


PROBES = {"database": Probe(_ask_database, psycopg.Error), "redis": Probe(_ask_redis, redis.RedisError)}


def silent_server() -> str:
    """Return the name of a server that does not answer, the database before Redis; empty if both do.

    On a busy machine a server that is well answers late, so it gets more time. A database that meanwhile answers
    statements of other requests is only slow.
    """
    started_at, waited_before = time.monotonic(), _core_wait_seconds()
    answers = _answers()
    if SILENT in answers.values() and _core_wait_seconds() - waited_before > BUSY_SHARE * ANSWER_SECONDS:
        answers = _answers(BUSY_ANSWER_SECONDS - ANSWER_SECONDS)
    silent = [name for name, answer in answers.items() if answer != OK]
    return next((name for name in silent if name != "database" or DatabaseWrapper.answered_at < started_at), "")


def _answers(seconds: float | None = None) -> dict[str, str]:
    """Return the answers that come within so many seconds; ANSWER_SECONDS if none are given."""
    deadline = time.monotonic() + (ANSWER_SECONDS if seconds is None else seconds)
    questions = {name: probe.start() for name, probe in PROBES.items()}
    return {name: question.answer_by(deadline) for name, question in questions.items()}


def _core_wait_seconds() -> float:
    """Return for how long some process of this machine has waited for a core, since its start; 0 if unknown."""
    try:
        some = CPU_PRESSURE.read_text(encoding="ascii").partition("\n")[0]
        return int(some.rpartition("total=")[2]) / 1e6
    except (OSError, ValueError):
        return 0.0


@never_cache
@login_not_required
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """Answer 200 if the database and Redis answer, else 503; name the silent server, and nothing more to strangers.

    A disk that is low or full is reported, and is no failure: a restart of the web does not help.
    """
    servers = _answers()
    return JsonResponse({**servers, "disk": watch.state()}, status=200 if set(servers.values()) == {OK} else 503)


class LocalHealth:
    """The middleware that answers `/healthz` to this machine by its loopback names, whatever ALLOWED_HOSTS says.

    Health checks run on the same machine as the web and do not know its public name. Nothing in the answer depends on
    the Host header.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_local = split_domain_port(request.META.get("HTTP_HOST", ""))[0] in LOOPBACK
        is_health_check = request.path == ADDRESS and request.method in ("GET", "HEAD")
        return health(request) if is_local and is_health_check else self.get_response(request)
