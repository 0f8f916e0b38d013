"""Starts engines on another node of a training's job, on request of the training process. Stdlib only.

    python -m workers.engine_nodes.program ATTEMPT_DIRECTORY --node NUMBER

It finds the training process by a file in the attempt's directory, and serves it until the connection ends; its engines
end with it. No signal to the job ends it before: the training process decides when an iteration is given up. Exit
codes: 0 the training process is gone; 1 it cannot be reached; 3 it has another token.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import signal
import socket
import subprocess
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from workers.agent import death_signal_setter
from workers.attempt import read_json
from workers.engine_nodes.handshake import SECONDS, Refused, introduce, set_timeouts
from workers.engine_nodes.links import CONTACT, EngineCommand, Link
from workers.engine_nodes.processes import VISIBLE, GpuMissing, start_engine
from workers.gpus.mps import MpsDaemon

GONE, UNREACHABLE, OTHER_TOKEN = 0, 1, 3
CONTACT_SECONDS, POLL_SECONDS = 180.0, 0.5
"""The time for the file to appear, which a network file system may show late, and for the first connection."""


class Unreachable(Exception):
    """The training process cannot be reached. The message gives the reason."""


class NodeProgram:
    """The engines of this node, by the numbers that the training process gave them."""

    def __init__(self, directory: Path, number: int) -> None:
        self._directory, self._number = directory, number
        self._engines: dict[int, subprocess.Popen[bytes]] = {}
        self._mps: MpsDaemon | None = None

    def serve(self) -> int:
        """Serve the training process until it is gone. Raise Unreachable or Refused."""
        link = Link(self._connect_soon({"node": self._number, "name": node_name()}))
        try:
            while True:
                message = link.receive()
                if message.pop("kind") == "start":
                    self._start(link, **message)
                else:
                    self._kill(message["id"])
        except (EOFError, OSError):
            return GONE
        finally:
            self._end()

    def _start(self, link: Link, id: int, command: dict[str, Any]) -> None:
        """Start an engine and report it. Only the main thread may: engines end with the thread that started them."""
        try:
            engine = self._start_engine(EngineCommand(**command), id)
        except (OSError, GpuMissing, Refused, Unreachable) as error:
            link.send("failed", id=id, reason=str(error))
            return
        self._engines[id] = engine
        link.send("started", id=id, pid=engine.pid)
        threading.Thread(target=self._report_end, args=(link, id, engine), daemon=True).start()

    def _start_engine(self, command: EngineCommand, id: int) -> subprocess.Popen[bytes]:
        service = self._share_gpus() if command.shares_gpus else {}
        connection = self._connect({"node": self._number, "engine": id})
        try:
            return start_engine(command, connection.fileno(), service, preexec=death_signal_setter())
        finally:
            connection.close()

    def _share_gpus(self) -> dict[str, str]:
        """Return the environment of engines that share GPUs; nothing if this machine has no service for it."""
        if self._mps is None:
            try:
                self._mps = MpsDaemon(os.environ.get(VISIBLE))
            except OSError as error:
                _log(f"engines share a GPU in turns: {error.strerror or error}")
                return {}
        return self._mps.environment

    def _report_end(self, link: Link, id: int, engine: subprocess.Popen[bytes]) -> None:
        code = engine.wait()
        with contextlib.suppress(OSError):
            link.send("ended", id=id, code=code)

    def _kill(self, id: int) -> None:
        if engine := self._engines.get(id):
            engine.kill()

    def _end(self) -> None:
        for engine in self._engines.values():
            engine.kill()
        for engine in self._engines.values():
            # The service ends after its clients.
            engine.wait()
        if self._mps is not None:
            self._mps.stop()

    def _connect_soon(self, description: dict[str, Any]) -> Connection:
        """Connect as soon as the training process can be reached. Raise Unreachable or Refused."""
        until = time.monotonic() + CONTACT_SECONDS
        while True:
            try:
                return self._connect(description)
            except Unreachable:
                if time.monotonic() > until:
                    raise
            except Refused:
                # The file may be that of an earlier start, which a network file system still shows.
                if time.monotonic() > until:
                    raise
            time.sleep(POLL_SECONDS)

    def _connect(self, description: dict[str, Any]) -> Connection:
        """Return a connection to the training process. Raise Unreachable or Refused."""
        path = self._directory / CONTACT
        contact = read_json(path)
        if contact is None:
            raise Unreachable(f"{path} is not there: the training process of this job writes it")
        connection = _reach(contact["endpoints"])
        try:
            introduce(connection, bytes.fromhex(contact["token"]), description)
        except OSError as error:
            connection.close()
            raise Unreachable(f"the training process ended the connection: {error}") from error
        except Refused:
            connection.close()
            raise
        return connection


def node_name() -> str:
    """Return the name of this node: Slurm's, if a job of Slurm runs here, or the machine's."""
    return os.environ.get("SLURMD_NODENAME") or platform.node()


def _reach(endpoints: list[tuple[str, int]]) -> Connection:
    """Return a connection to the first address and port that accepts one. Raise Unreachable."""
    reasons = []
    for address, port in endpoints:
        try:
            connected = socket.create_connection((address, port), timeout=SECONDS)
        except OSError as error:
            reasons.append(f"{address}:{port}: {error.strerror or error}")
            continue
        with connected:
            connected.setblocking(True)
            set_timeouts(connected, 0)
            return Connection(connected.detach())
    raise Unreachable(f"the training process cannot be reached ({'; '.join(reasons)})")


def _log(message: str) -> None:
    print(f"esweb node {node_name()}: {message}", file=sys.stderr, flush=True)


def main() -> int:
    """Run the command line. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m workers.engine_nodes.program", description="Start engines here.")
    parser.add_argument("directory", type=Path, help="directory of the attempt")
    parser.add_argument("--node", type=int, required=True, help="number of this node in the job, from 1")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        return NodeProgram(options.directory.resolve(), options.node).serve()
    except Unreachable as error:
        _log(str(error))
        return UNREACHABLE
    except Refused as error:
        _log(f"the training process refused this node: {error}")
        return OTHER_TOKEN


if __name__ == "__main__":
    sys.exit(main())
