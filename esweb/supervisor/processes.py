"""The processes of a running esweb: the web, a worker for jobs, its clock, and the follower of local runs."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from django.conf import settings

from esweb.supervisor.process import Part
from esweb.supervisor.stopgap import Stopgap

WORKER_PROCESSES = 3
"""One of them may be waiting for judges, for half a minute at a time."""


def parts_of_esweb(data: Path, listener: socket.socket, manage_py: Path, stopgap: Stopgap) -> list[Part]:
    """Return the parts, not yet started. The web gets a listening socket, so that no client is refused while it
    restarts; the stopgap answers until it has begun."""
    python, manage = sys.executable, str(manage_py)
    # As root Celery warns, of pickles, which are not accepted here.
    celery = (python, "-W", "ignore:You're running the worker", "-m", "celery", "--quiet", "--app")
    quiet = ("--loglevel", "WARNING")
    worker = ("--concurrency", str(WORKER_PROCESSES), "--queues", "jobs,ticks")
    # Other workers do not need to know of this one: the supervisor sees whether it runs.
    alone = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    argvs = {
        "web": (python, "-m", "esweb.supervisor.web", str(listener.fileno())),
        "worker": (*celery, "esweb", "worker", *worker, *alone, *quiet),
        "beat": (*celery, "esweb.beat", "beat", "--scheduler", "esweb.beat.Scheduler", "--pidfile", "", *quiet),
        "follow": (python, manage, "follow", "--tick"),
    }
    env = {"ESWEB_SITE_URL": f"http://127.0.0.1:{listener.getsockname()[1]}"} | environment(data, manage_py.parent)
    parts = {name: Part(name, argv, data / "logs" / f"{name}.log", env) for name, argv in argvs.items()}
    parts["web"].pass_fds, parts["web"].stopgap = (listener.fileno(),), stopgap
    # Somebody waits for these two: a visitor, and the trainings' newest records.
    for name in ("web", "follow"):
        parts[name].takes_turns, parts[name].has_spare = True, settings.SPARE_PROCESSES
    return list(parts.values())


def collectstatic_part(data: Path, manage_py: Path) -> Part:
    """Return the part that collects and compresses the files that pages need and then ends."""
    argv = (sys.executable, str(manage_py), "collectstatic", "--no-input", "--verbosity", "0")
    return Part("static", argv, data / "logs" / "static.log", environment(data, manage_py.parent), comes_back=False)


def static_folder(data: Path) -> Path:
    """Return the folder of the files of pages."""
    return data / "static"


def environment(data: Path, project: Path) -> dict[str, str]:
    """Return our environment, with the data and the code at any working folder."""
    return {
        **os.environ,
        "ESWEB_DATA": str(data),
        "ESWEB_STATIC_COLLECTED": "1",
        "ESWEB_STATIC_ROOT": str(static_folder(data)),
        "DJANGO_SETTINGS_MODULE": "esweb.settings",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(project), os.environ.get("PYTHONPATH", "")])),
        "PYTHONUNBUFFERED": "1",
    }
