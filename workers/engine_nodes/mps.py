"""CUDA's Multi-Process Service: kernels of several engines run on one GPU together, and not in turns.

Without it the driver gives the GPU to one process at a time. Three engines of a model of 1.5 billion parameters then
answer 1.3 times as fast as one on an H200, and 1.8 times with it. It changes no setting of the GPU: it is a program
of this user, which is in a folder of its own and ends with the run.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAM = "nvidia-cuda-mps-control"
START_SECONDS, STOP_SECONDS, POLL_SECONDS = 10.0, 10.0, 0.2


class MpsDaemon:
    """A running service. `environment` is that of the processes that share GPUs by it."""

    def __init__(self, visible_gpus: str | None) -> None:
        """Start the service for these GPUs, which its clients number from 0; None for all of the machine.

        Raise OSError if this machine has no such program, or it does not start.
        """
        # Not in the run's folder: the path of a socket may have 107 characters.
        self._folder = Path(tempfile.mkdtemp(prefix="esweb-mps-"))
        self.environment = {
            "CUDA_MPS_PIPE_DIRECTORY": str(self._folder / "pipe"),
            "CUDA_MPS_LOG_DIRECTORY": str(self._folder / "log"),
        }
        try:
            for folder in self.environment.values():
                Path(folder).mkdir()
            environment = {**os.environ, **self.environment}
            if visible_gpus is not None:
                environment["CUDA_VISIBLE_DEVICES"] = visible_gpus
            # In the foreground, so that it ends with the processes of the run.
            self._process = subprocess.Popen(
                [PROGRAM, "-f"], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
            self._wait_until_ready()
        except OSError:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

    def stop(self) -> None:
        """End the service. Its clients must have ended. Safe to call again."""
        if self._process.poll() is None:
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                self._control("quit")
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS)
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait_until_ready(self) -> None:
        """Return once the service answers. Raise OSError if it ends or does not."""
        until = time.monotonic() + START_SECONDS
        while self._process.poll() is None and time.monotonic() < until:
            with contextlib.suppress(subprocess.TimeoutExpired):
                if self._control("get_server_list") == 0:
                    return
            time.sleep(POLL_SECONDS)
        self._process.kill()
        self._process.wait()
        raise OSError(f"{PROGRAM} does not answer")

    def _control(self, command: str) -> int:
        """Give the service a command. Return the exit code, which is 0 if the service has taken it."""
        done = subprocess.run(
            [PROGRAM], input=f"{command}\n", env={**os.environ, **self.environment}, text=True, capture_output=True,
            timeout=STOP_SECONDS, check=False,
        )  # fmt: skip
        return done.returncode
