"""The services by which jobs of this machine run concurrently on a GPU: one a GPU, from its first job to its last.

A service outlives esweb as the jobs do, so a file says which ones there are. Call everything under the queue's lock.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Collection, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from workers.attempt import Process, read_json, write_json
from workers.gpus.mps import (
    PROGRAM,
    VISIBLE,
    answers,
    end_service,
    make_service_folder,
    service_environment,
    start_service,
)

FILE = "mps.json"
UUID_PREFIXES = ("GPU-", "MIG-")
PASSED_VARIABLES = ("PATH", "HOME", "LANG")
"""Variables that a service gets: none of esweb's secrets."""
_started: list[subprocess.Popen[bytes]] = []
"""Services that this process has started and not waited for yet."""


class MpsServices:
    """The running services of a queue's GPUs."""

    def __init__(self, root: Path) -> None:
        self._file = root / FILE

    def environment(self, device: str) -> dict[str, str]:
        """Return the variables by which a job reaches the GPU's service, which starts if it does not run.

        Return none if this machine has no such service: its jobs use the GPU in turns.
        """
        services = self._read()
        if (record := services.get(device)) is not None:
            if _is_alive(record):
                return service_environment(Path(record["folder"]))
            _end(services.pop(device))
        if shutil.which(PROGRAM) is None:
            return {}
        folder = make_service_folder()
        # The folder first: it is enough to end a service whose process no one could write down.
        self._write({**services, device: {"folder": str(folder), "process": None}})
        try:
            started = start_service(folder, _variables(device), outlives_parent=True)
        except OSError:
            self._write(services)
            return {}
        _started.append(started)
        process = Process.at(started.pid)
        self._write({**services, device: {"folder": str(folder), "process": asdict(process) if process else None}})
        return service_environment(folder)

    def end_unused(self, used: Collection[str]) -> None:
        """End the services of all GPUs but these. Their jobs must have ended."""
        services = self._read()
        for device in [device for device in services if device not in used]:
            _end(services.pop(device))
            self._write(services)

    def processes(self) -> Iterator[int]:
        """Yield the process ids of all services. Some drivers count memory of their clients as theirs."""
        for record in self._read().values():
            if _is_alive(record):
                yield record["process"]["pid"]

    def _read(self) -> dict[str, dict[str, Any]]:
        return read_json(self._file) or {}

    def _write(self, services: dict[str, dict[str, Any]]) -> None:
        write_json(self._file, services, sync=True)


def _variables(device: str) -> dict[str, str]:
    """Return the environment of a service for this GPU."""
    variables = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    # Under a service, an index counts the service's own GPUs: for a GPU that is named by its index it has all of them.
    return variables | ({VISIBLE: device} if device.startswith(UUID_PREFIXES) else {})


def _end(record: dict[str, Any]) -> None:
    folder, process = Path(record["folder"]), Process.recorded(record["process"])
    if process is None:
        end_service(folder, partial(answers, folder), lambda: None)
    else:
        end_service(folder, process.is_alive, partial(process.send, signal.SIGKILL))
    _started[:] = [started for started in _started if started.poll() is None]


def _is_alive(record: dict[str, Any]) -> bool:
    process = Process.recorded(record["process"])
    return process is not None and process.is_alive()
