"""The process tree: it starts servers before parts, watches them, and stops them in the opposite order."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from esweb.embedded import CannotStart, Postgres, Valkey
from esweb.supervisor.process import FIRST_WAIT_SECONDS, MAX_WAIT_SECONDS, Part

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOOK_SECONDS = 0.1
PART_PATIENCE_SECONDS = 15.0


class StopRequested(BaseException):
    """A signal to stop arrived. It is no error, hence no Exception: code that handles errors must not catch it."""


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Raise StopRequested in the block at the first such signal; later ones are ignored: stopping is not cut short."""
    before = {number: signal.signal(number, _stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(_number: int, _frame: FrameType | None) -> None:
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)
    raise StopRequested


Server = Postgres | Valkey


class Tree:
    """Servers, and the parts that need them. `print_line` prints a line: (source, text)."""

    def __init__(self, servers: Sequence[Server], print_line: Callable[[str, str], None]) -> None:
        self.servers, self.parts, self.print_line = servers, list[Part](), print_line
        self._retry_at, self._pauses = dict[str, float](), dict[str, float]()

    def start_servers(self) -> None:
        """Return once all of them answer. Raise CannotStart."""
        for server in self.servers:
            server.start()

    def start_part(self, part: Part) -> None:
        """Start a part and watch it from now on."""
        part.start()
        self.parts.append(part)

    def watch(self, until: Callable[[], bool]) -> None:
        """Restart ended processes and print their output, until `until` is true."""
        while not until():
            self._restart_servers()
            for part in self.parts:
                self._print_new_lines(part)
                if message := part.restart_if_due():
                    self.print_line("esweb", message)
            time.sleep(LOOK_SECONDS)
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

    def _restart_servers(self) -> None:
        for server in self.servers:
            has_ended = server.process is not None and server.process.poll() is not None
            if has_ended and time.monotonic() >= self._retry_at.get(server.name, 0.0):
                self._restart(server)

    def _restart(self, server: Server) -> None:
        """Start a server that ended. While that does not help, as on a full disk, the pauses between the tries grow."""
        self.print_line("esweb", f"{server.name} stopped; restarting (see {server.log})")
        try:
            server.start()
        except CannotStart as error:
            pause = self._pauses.get(server.name, FIRST_WAIT_SECONDS)
            self.print_line("esweb", f"{error} Retrying in {pause:.0f} s.")
            self._retry_at[server.name] = time.monotonic() + pause
            self._pauses[server.name] = min(2 * pause, MAX_WAIT_SECONDS)
        else:
            self._pauses.pop(server.name, None)
