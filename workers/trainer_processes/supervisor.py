"""Starts the processes of a training, passes requests to stop on, and ends all of them if one fails."""

from __future__ import annotations

import contextlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue

from workers.agent import death_signal_setter
from workers.attempt import RESUMABLE, write_whole
from workers.config import RunConfig
from workers.engine_nodes.job_nodes import start_nodes
from workers.engine_nodes.links import EngineCommand, Link
from workers.engine_nodes.nodes import Nodes
from workers.engine_nodes.processes import start_engine
from workers.engine_nodes.remote_node import NodeLost, RemoteProcess
from workers.trainer_processes.accelerate_config import FILE, accelerate_yaml
from workers.trainer_processes.control import LOST_SECONDS
from workers.trainer_processes.layout import Rank, environment_of, ranks_of

PROGRAM = "workers.train_process"
DONE, FAILED = 0, 1
POLL_SECONDS = 0.2
END_SECONDS = 2 * LOST_SECONDS
"""The time for the others to end after one process has failed."""
FOLLOW_SECONDS = 300.0
"""The time for the others to end after one process has ended as it should."""


@dataclass(frozen=True)
class Ending:
    """The end of a process: exit code, None if it was lost without one, and the reason that it gave."""

    rank: Rank
    code: int | None
    reason: str

    def describe(self, world: int) -> str:
        """Return the end in a sentence."""
        who = self.rank.describe(world)
        if self.reason:
            return self.reason if self.rank.number == 0 else f"{who}: {self.reason}"
        if self.code is None:
            return f"{who} was lost: its node does not answer"
        if self.code < 0:
            return f"{who} was ended by signal {-self.code} ({_signal_name(-self.code)}); the log may say more"
        return f"{who} ended with exit code {self.code}; the log may say more"


def supervise(
    config: RunConfig, argv: Sequence[str], directory: Path, python: str, stop_is_requested: Callable[[], bool]
) -> int:
    """Run the training in its processes. Return the exit code of the whole.

    `argv`: arguments of `python -m workers.train`, for each process. `python`: the interpreter of the processes.
    Raise ConfigError if the other nodes cannot be started.
    """
    meeting = Path(tempfile.mkdtemp(prefix="esweb-processes-"))
    nodes: Nodes | None = None
    try:
        if config.processes > 1:
            write_whole(directory / FILE, accelerate_yaml(config))
        nodes = start_nodes(directory, config.compute)
        rendezvous = f"tcp://{nodes.address}:{_free_port(nodes.address)}" if nodes else f"file://{meeting}/rendezvous"
        return _Training(config, argv, python, rendezvous, nodes).run(stop_is_requested)
    finally:
        if nodes is not None:
            nodes.close()
        shutil.rmtree(meeting, ignore_errors=True)


class _Training:
    """The processes of one training, from start to end."""

    def __init__(
        self, config: RunConfig, argv: Sequence[str], python: str, rendezvous: str, nodes: Nodes | None
    ) -> None:
        self._config, self._argv, self._python, self._rendezvous = config, list(argv), python, rendezvous
        self._nodes = nodes
        self._ranks = ranks_of(config)
        self._links: dict[int, Link] = {}
        self._processes: dict[int, subprocess.Popen[bytes] | RemoteProcess] = {}
        self._endings: dict[int, Ending] = {}
        self._events = SimpleQueue[Ending]()

    def run(self, stop_is_requested: Callable[[], bool]) -> int:
        """Start all processes and wait for their end. Return the exit code."""
        try:
            for rank in self._ranks:
                if stop_is_requested():
                    return RESUMABLE
                self._start(rank, stop_is_requested)
            return self._wait(stop_is_requested)
        except (NodeLost, OSError) as error:
            print(f"the processes of the training cannot be started: {error}", file=sys.stderr)
            return FAILED
        finally:
            self._kill()

    def _start(self, rank: Rank, stop_is_requested: Callable[[], bool]) -> None:
        """Start a process. Only the main thread may: processes end with the thread that started them."""
        environment = environment_of(self._config, rank, self._rendezvous)
        command = EngineCommand(self._python, PROGRAM, environment)
        process: subprocess.Popen[bytes] | RemoteProcess
        if rank.node == 0 or self._nodes is None:
            own_socket, peer = socket.socketpair()
            with peer:
                process = start_engine(command, peer.fileno(), preexec=death_signal_setter())
            connection = Connection(own_socket.detach())
        else:
            self._await_node(self._nodes, rank.node, stop_is_requested)
            connection, process = self._nodes.start(rank.node, command)
        link = Link(connection)
        self._links[rank.number], self._processes[rank.number] = link, process
        link.send("train", argv=self._argv, folder=str(Path.cwd()))
        threading.Thread(target=self._listen, args=(rank, link, process), daemon=True).start()

    def _await_node(self, nodes: Nodes, number: int, stop_is_requested: Callable[[], bool]) -> None:
        closed = threading.Event()
        waiting = threading.Thread(target=nodes.wait, args=(number, closed), daemon=True)
        waiting.start()
        while waiting.is_alive():
            waiting.join(POLL_SECONDS)
            self._print_alerts()
            if stop_is_requested():
                closed.set()

    def _wait(self, stop_is_requested: Callable[[], bool]) -> int:
        has_passed_on, until = False, float("inf")
        while len(self._endings) < len(self._ranks) and time.monotonic() < until:
            if stop_is_requested() and not has_passed_on:
                has_passed_on = True
                self._tell_all("stop")
            with contextlib.suppress(Empty):
                ending = self._events.get(timeout=POLL_SECONDS)
                if not self._endings or (self._is_failure(ending) and not self._failures()):
                    seconds = END_SECONDS if self._is_failure(ending) else FOLLOW_SECONDS
                    until = time.monotonic() + seconds
                self._endings[ending.rank.number] = ending
                if self._is_failure(ending):
                    self._tell_all("lost", reason=ending.describe(len(self._ranks)))
            self._print_alerts()
        return self._exit_code()

    def _exit_code(self) -> int:
        """Return the code of the first process that failed, or that with which all ended."""
        if failures := self._failures():
            first = failures[0]
            print(first.describe(len(self._ranks)), file=sys.stderr)
            return first.code if first.code is not None and first.code > 0 else FAILED
        return RESUMABLE if any(ending.code == RESUMABLE for ending in self._endings.values()) else DONE

    def _failures(self) -> list[Ending]:
        """Return the failures in the order in which they were noticed."""
        return [ending for ending in self._endings.values() if self._is_failure(ending)]

    @staticmethod
    def _is_failure(ending: Ending) -> bool:
        return ending.code not in (DONE, RESUMABLE)

    def _listen(self, rank: Rank, link: Link, process: subprocess.Popen[bytes] | RemoteProcess) -> None:
        """Wait for the end of a process."""
        code, reason = None, ""
        with contextlib.suppress(EOFError, OSError, ValueError, KeyError):
            message = link.receive()
            code, reason = int(message["code"]), str(message["reason"])
        with contextlib.suppress(subprocess.TimeoutExpired):
            exit_code = process.wait(timeout=END_SECONDS)
            code = exit_code if code is None else code
        self._events.put(Ending(rank, code, reason))

    def _tell_all(self, kind: str, **values: str) -> None:
        for number, link in self._links.items():
            if number not in self._endings:
                with contextlib.suppress(OSError):
                    link.send(kind, **values)

    def _print_alerts(self) -> None:
        for alert in self._alerts():
            print(alert, file=sys.stderr, flush=True)

    def _alerts(self) -> Iterator[str]:
        if self._nodes is not None:
            yield from self._nodes.alerts()

    def _kill(self) -> None:
        """End what still runs."""
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=END_SECONDS)
        for link in self._links.values():
            link.close()


def _signal_name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return "unknown"


def _free_port(address: str) -> int:
    """Return a port of this address that no program uses now. Another may take it before the first process does, which
    then fails, and the run is restarted."""
    with socket.create_server((address, 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
