"""CUDA's Multi-Process Service: kernels of several processes run on one GPU together, and not in turns.

Without it the driver gives the GPU to one process at a time. Three engines of a model of 1.5 billion parameters then
answer 1.3 times as fast as one on an H200, and 1.8 times with it. It changes no setting of the GPU: it is a program
of this user, which is in a folder of its own. Stdlib only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

PROGRAM = "nvidia-cuda-mps-control"
VISIBLE = "CUDA_VISIBLE_DEVICES"
PIPE_VARIABLE, LOG_VARIABLE = "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"
"""Variables of the service and of its clients."""
START_SECONDS, STOP_SECONDS, POLL_SECONDS = 10.0, 10.0, 0.2


class MpsDaemon:
    """A service that ends with the run that started it. `environment` is that of the processes that share GPUs."""

    def __init__(self, visible_gpus: str | None) -> None:
        """Start the service for these GPUs, which its clients number from 0; None for all of the machine.

        Raise OSError if this machine has no such program, or it does not start.
        """
        variables = dict(os.environ) if visible_gpus is None else {**os.environ, VISIBLE: visible_gpus}
        self._folder = make_service_folder()
        self._process = start_service(self._folder, variables)
        self.environment = service_environment(self._folder)

    def stop(self) -> None:
        """End the service. Its clients must have ended. Safe to call again."""
        end_service(self._folder, lambda: self._process.poll() is None, self._process.kill)
        self._process.wait()


def service_environment(folder: Path) -> dict[str, str]:
    """Return the environment of the service in this folder, and of its clients."""
    return {PIPE_VARIABLE: str(folder / "pipe"), LOG_VARIABLE: str(folder / "log")}


def make_service_folder() -> Path:
    """Return a new folder for a service. Raise OSError."""
    # Not in a run's folder: the path of a socket may have 107 characters.
    return Path(tempfile.mkdtemp(prefix="esweb-mps-"))


def start_service(
    folder: Path, variables: Mapping[str, str], *, outlives_parent: bool = False
) -> subprocess.Popen[bytes]:
    """Start a service in its folder, with this environment. Return its process once it answers.

    With `outlives_parent` it is in a session of its own. Raise OSError, and remove the folder, if there is no such
    program, or it does not start.
    """
    try:
        for path in service_environment(folder).values():
            Path(path).mkdir()
        # In the foreground: a process that puts itself in the background could not be waited for.
        process = subprocess.Popen(
            [PROGRAM, "-f"], env={**variables, **service_environment(folder)}, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=outlives_parent,
        )  # fmt: skip
        _wait_until_ready(folder, process)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return process


def answers(folder: Path) -> bool:
    """Return whether a service answers in this folder."""
    try:
        return _control(folder, "get_server_list") == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def end_service(folder: Path, is_alive: Callable[[], bool], kill: Callable[[], None]) -> None:
    """End the service in this folder, and remove the folder. Its clients must have ended. Safe to call again.

    `is_alive` and `kill` are of its process, which another process may have started.
    """
    if is_alive():
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            _control(folder, "quit")
        until = time.monotonic() + STOP_SECONDS
        while is_alive() and time.monotonic() < until:
            time.sleep(POLL_SECONDS / 10)
        kill()
    shutil.rmtree(folder, ignore_errors=True)


def _wait_until_ready(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Return once the service answers. Raise OSError if it ends or does not."""
    until = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < until:
        if answers(folder):
            return
        time.sleep(POLL_SECONDS)
    process.kill()
    process.wait()
    raise OSError(f"{PROGRAM} does not answer")


def _control(folder: Path, command: str) -> int:
    """Give the service a command. Return the exit code, which is 0 if the service has taken it."""
    done = subprocess.run(
        [PROGRAM], input=f"{command}\n", env={**os.environ, **service_environment(folder)}, text=True,
        capture_output=True, timeout=STOP_SECONDS, check=False,
    )  # fmt: skip
    return done.returncode
