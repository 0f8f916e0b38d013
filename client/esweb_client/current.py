"""The current run of this process: `init` starts it, and the end of the process finishes it."""

from __future__ import annotations

import atexit
import dataclasses
import functools
import os
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from esweb_client.connection import Unreachable
from esweb_client.errors import end_of
from esweb_client.leftovers import find_leftovers
from esweb_client.machine import HIDDEN, describe_program
from esweb_client.notices import reset_notices, say
from esweb_client.pusher import Pusher
from esweb_client.recorder import Recorder
from esweb_client.sender import Sender
from esweb_client.settings import Settings, rank, read_settings
from esweb_client.spool import META, STATE, Spool
from esweb_client.state import State
from esweb_client.tracked_run import Run
from esweb_client.values import to_object
from esweb_client.version import VERSION

_lock = threading.RLock()
_current: Run | None = None
_error: BaseException | None = None
_has_hooks = False


def current_run() -> Run | None:
    """Return the run that `init` started last, also after its end; None before."""
    return _current


def init(
    project: str | None = None,
    name: str | None = None,
    config: Any = None,
    *,
    experiment: int | None = None,
    group: str | None = None,
    tags: Sequence[str] = (),
    note: str | None = None,
    method: str | None = None,
    seed: int | None = None,
    id: str | None = None,
    mode: str | None = None,
    dir: str | os.PathLike[str] | None = None,
    server_url: str | None = None,
    token: str | None = None,
    system_metrics_seconds: float = 15.0,
    lost_after_seconds: float = 300.0,
    capture_git: bool = True,
) -> Run:
    """Start a run and return it. It becomes the current run, and one that was current before is finished.

    `mode` is online, offline or disabled. A second start with the same `id` continues the run. Raise ValueError for an
    argument that cannot mean anything; nothing else raises, and without a server the run is stored on the disk.
    """
    global _current
    settings = read_settings(
        {
            "project": project, "name": name, "experiment": experiment, "group": group, "tags": tags, "note": note,
            "method": method, "seed": seed, "id": id, "mode": mode, "dir": None if dir is None else os.fspath(dir),
            "server_url": server_url, "token": token, "lost_after_seconds": lost_after_seconds,
        }
    )  # fmt: skip
    with _lock:
        if _current is not None:
            _current.finish()
        reset_notices()
        _current = _start(settings, to_object(config), float(system_metrics_seconds), bool(capture_git))
        _install_hooks()
        return _current


def _start(settings: Settings, config: dict[str, Any], usage_seconds: float, capture_git: bool) -> Run:
    values = {"name": settings.name, "tags": list(settings.tags), "note": settings.note}
    state = State({"config": config, "summary": {}, **values})
    if settings.mode != "disabled" and rank() > 0:
        say(f"this process has rank {rank()}; the process of rank 0 reports the run.")
        return Run(settings, state, None)
    if settings.mode == "disabled":
        return Run(settings, state, None)
    settings, secret = _check_server(settings)
    spool = _open_spool(settings)
    run = Run(settings, state, spool)
    state.save = functools.partial(_save_state, spool, state)
    described = {**describe_program(VERSION), "started_at": time.time(), "config": state.fitting("config")}
    request = {**settings.request(), **described}
    if secret:
        request["command"] = request["command"].replace(secret, HIDDEN)
    spool.write_json(META, {"request": request})
    run.name_omitted()
    add_git = functools.partial(_add_git, spool, request) if capture_git else None
    run.recorder = Recorder(spool, state, lambda: run.step, usage_seconds=usage_seconds, add_git=add_git)
    run.recorder.start()
    if settings.mode == "online":
        run.pusher = _build_pusher(settings, state, spool, request)
        run.pusher.start(run.recorder.is_described)
    return run


def _check_server(settings: Settings) -> tuple[Settings, str]:
    """Return the settings, offline if there is no server or token, and the token."""
    if settings.mode == "offline":
        return settings, ""
    try:
        return settings, settings.find_server().token
    except Unreachable as error:
        say(f"the run is stored on the disk only, because {error}.")
        return dataclasses.replace(settings, mode="offline"), ""


def _open_spool(settings: Settings) -> Spool:
    """Return a spool in the folder of the settings, else in the system's folder for temporary files, else in memory."""
    for folder in (settings.folder, _temporary_folder()):
        try:
            spool = Spool(folder / settings.id / settings.start)
        except OSError as error:
            say(f"records cannot be stored in {folder}: {error.strerror}.")
        else:
            if folder != settings.folder:
                say(f"records are stored in {folder} instead; `esweb sync {folder}` sends them.")
            return spool
    say("records are in memory only: what the server has not received when the program ends is lost.")
    return Spool(None)


def _temporary_folder() -> Path:
    return Path(tempfile.gettempdir()) / f"esweb-runs-{_user()}"


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else "user"


def _save_state(spool: Spool, state: State) -> None:
    spool.write_json(STATE, state.copy())


def _add_git(spool: Spool, request: dict[str, Any], git: dict[str, Any]) -> None:
    request["git"] = git
    spool.write_json(META, {"request": request})


def _build_pusher(settings: Settings, state: State, spool: Spool, request: dict[str, Any]) -> Pusher:
    def leftovers() -> list[Path]:
        folders = [folder / settings.id for folder in (settings.folder, _temporary_folder()) if _is_own(folder)]
        return [start for folder in folders for start in find_leftovers(folder, spool.folder)]

    sender = Sender(spool.folder, request, spool)
    return Pusher(sender, state, settings.find_server, leftovers, settings.lost_after_seconds)


def _is_own(folder: Path) -> bool:
    """Return whether the folder exists and is this user's: anyone may create one in the folder for temporary files."""
    try:
        return not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()
    except OSError:
        return False


def _install_hooks() -> None:
    """Finish the run when the process ends, note how it ended, and adopt the run in forked processes; once."""
    global _has_hooks
    if _has_hooks:
        return
    _has_hooks = True
    atexit.register(_finish_at_exit)
    sys.excepthook = functools.partial(_note_error, sys.excepthook)
    # The interpreter reports no exit code to what runs at its end.
    sys.exit = functools.partial(_note_exit, sys.exit)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_announce_fork, after_in_child=_adopt_in_child)


def _note_error(hook: Any, kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
    global _error
    _error = error
    hook(kind, error, at)


def _note_exit(leave: Any, code: Any = None) -> NoReturn:
    global _error
    if code not in (None, 0):
        _error = SystemExit(code)
    leave(code)
    raise AssertionError("unreachable")


def _finish_at_exit() -> None:
    if _current is not None:
        _current.finish(**end_of(_error))


def _announce_fork() -> None:
    if _current is not None:
        _current.announce_fork()


def _adopt_in_child() -> None:
    global _lock
    _lock = threading.RLock()
    if _current is not None:
        _current.adopt_in_child()
