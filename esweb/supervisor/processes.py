"""What esweb is made of while it runs: the web, a worker for jobs, their clock, and the follower of local runs."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from esweb.supervisor.process import Part

WORKER_PROCESSES = 3
"""One of them may be asking judges, for half a minute at a time."""


def parts_of_esweb(data: Path, listening: socket.socket, manage_py: Path) -> list[Part]:
    """The parts, not yet started. The web gets a socket that already listens: nobody is refused while it restarts."""
    python, manage = sys.executable, str(manage_py)
    # As root Celery warns, of pickles, which are not accepted here.
    celery = (python, "-W", "ignore:You're running the worker", "-m", "celery", "--quiet", "--app", "esweb")
    quiet = ("--loglevel", "WARNING")
    worker = ("--concurrency", str(WORKER_PROCESSES), "--queues", "jobs,ticks", "--without-gossip", "--without-mingle")
    argvs = {
        "web": (python, "-m", "esweb.supervisor.web", str(listening.fileno())),
        "worker": (*celery, "worker", *worker, *quiet),
        "beat": (*celery, "beat", "--scheduler", "esweb.beat.Scheduler", "--pidfile", "", *quiet),
        "follow": (python, manage, "follow"),
    }
    env = {"ESWEB_SITE_URL": f"http://127.0.0.1:{listening.getsockname()[1]}"} | environment(data, manage_py.parent)
    return [
        Part(name, argv, data / "logs" / f"{name}.log", env, pass_fds=(listening.fileno(),) if name == "web" else ())
        for name, argv in argvs.items()
    ]


def collecting_static(data: Path, manage_py: Path) -> Part:
    """Gathers and compresses the files that pages need; ends by itself."""
    argv = (sys.executable, str(manage_py), "collectstatic", "--no-input", "--verbosity", "0")
    return Part("static", argv, data / "logs" / "static.log", environment(data, manage_py.parent), comes_back=False)


def static_folder(data: Path) -> Path:
    """Where the web finds the files of pages."""
    return data / "static"


def environment(data: Path, project: Path) -> dict[str, str]:
    """Ours, and where the data and the code are, whatever the working folder."""
    return {
        **os.environ,
        "ESWEB_DATA": str(data),
        "ESWEB_STATIC_COLLECTED": "1",
        "ESWEB_STATIC_ROOT": str(static_folder(data)),
        "DJANGO_SETTINGS_MODULE": "esweb.settings",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(project), os.environ.get("PYTHONPATH", "")])),
        "PYTHONUNBUFFERED": "1",
    }
