"""The process tree: it starts servers before parts, watches them, and stops them in the opposite order."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType

from esweb.embedded import CannotStart, Postgres, Valkey
from esweb.supervisor.disk_report import DiskReport
from esweb.supervisor.process import FIRST_WAIT_SECONDS, MAX_WAIT_SECONDS, Part, describe_exit

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOOK_SECONDS = 0.5
"""How often new lines of logs are printed. The end of a process is noticed at once."""
BUSY_LOOK_SECONDS = 0.1
"""The same where something is waited for, and where a system does not report the end of a process."""
PART_PATIENCE_SECONDS = 15.0


class StopRequested(BaseException):
    """A signal to stop arrived; its name is the argument. It is no error, hence no Exception: code that handles errors
    must not catch it."""


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Raise StopRequested in the block at the first such signal; later ones are ignored: stopping is not cut short."""
    before = {number: signal.signal(number, _stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(received: int, _frame: FrameType | None) -> None:
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)
    raise StopRequested(signal.Signals(received).name)


Server = Postgres | Valkey


class Tree:
    """Servers, and the parts that need them. `print_line` prints a line: (source, text)."""

    def __init__(self, servers: Sequence[Server], print_line: Callable[[str, str], None]) -> None:
        self.servers, self.parts, self.print_line = servers, list[Part](), print_line
        self._report_disks = DiskReport(lambda line: print_line("esweb", line))
        self._retry_at, self._pauses = dict[str, float](), dict[str, float]()

    def start_servers(self) -> None:
        """Return once all of them answer. Raise CannotStart."""
        for server in self.servers:
            server.start()

    def start_part(self, part: Part) -> None:
        """Start a part and watch it from now on."""
        part.start()
        self.parts.append(part)

    def watch(self, until: Callable[[], bool], look_seconds: float = LOOK_SECONDS) -> None:
        """Restart ended processes and print their output, until `until` is true."""
        while not until():
            for part in self.parts:
                self._print_new_lines(part)
                for message in part.look_after():
                    self.print_line("esweb", message)
            self._restart_servers()
            self._report_disks()
            self._await_end(look_seconds)
        for part in self.parts:
            self._print_new_lines(part)

    def stop_parts(self) -> None:
        """Signal all of them first, wait for each, kill those that do not end."""
        for part in self.parts:
            if part.process and part.process.poll() is None:
                part.process.terminate()
        give_up_at = time.monotonic() + PART_PATIENCE_SECONDS
        for part in self.parts:
            part.stop(max(0.0, give_up_at - time.monotonic()))

    def stop_servers(self) -> None:
        """Stop the servers last, newest first."""
        for server in reversed(self.servers):
            server.stop()

    def _print_new_lines(self, part: Part) -> None:
        # A log may be missing for a short time, or for good if somebody deleted it: there is nothing to print then.
        with suppress(OSError):
            for line in part.new_lines():
                self.print_line(part.name, line)

    def _await_end(self, seconds: float) -> None:
        """Wait so long, or until a process ends that runs now, or a part has loaded and waits for its turn."""
        processes = [process for part in self.parts for process in part.running_processes()]
        processes += [server.process for server in self.servers if server.process and server.process.poll() is None]
        if not hasattr(os, "pidfd_open"):
            time.sleep(min(seconds, BUSY_LOOK_SECONDS))
            return
        with ExitStack() as stack:
            poll = select.poll()
            for process in processes:
                with suppress(ProcessLookupError):
                    descriptor = os.pidfd_open(process.pid)
                    stack.callback(os.close, descriptor)
                    poll.register(descriptor, select.POLLIN)
            for turn in (part.open_turn for part in self.parts):
                if turn is not None:
                    poll.register(turn, select.POLLIN)
            poll.poll(1000 * seconds)

    def _restart_servers(self) -> None:
        for server in self.servers:
            has_ended = server.process is not None and server.process.poll() is not None
            if has_ended and time.monotonic() >= self._retry_at.get(server.name, 0.0):
                self._restart(server)

    def _restart(self, server: Server) -> None:
        """Start a server that ended. While that does not help, as on a full disk, the pauses between the tries grow."""
        how = describe_exit(server.process.returncode) if server.process else "stopped"
        if reason := server.crash_reason():
            how = f"{how}: {reason}"
        self.print_line("esweb", f"{server.name} {how}; restarting (see {server.log})")
        try:
            server.start()
        except CannotStart as error:
            pause = self._pauses.get(server.name, FIRST_WAIT_SECONDS)
            self.print_line("esweb", f"{error} Retrying in {pause:.0f} s.")
            self._retry_at[server.name] = time.monotonic() + pause
            self._pauses[server.name] = min(2 * pause, MAX_WAIT_SECONDS)
        else:
            self._pauses.pop(server.name, None)
