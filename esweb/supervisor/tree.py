"""The process tree: started from the ground up, watched, and taken down in the opposite order."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from esweb.embedded import CannotStart, Postgres, Valkey
from esweb.supervisor.process import FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS, Part

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOOK_SECONDS = 0.1
PART_PATIENCE_SECONDS = 15.0


class Stopped(BaseException):
    """Somebody asked us to stop. No error, hence no Exception: nothing that handles errors may swallow it."""


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Within the block the first such signal raises Stopped; later ones are ignored: stopping is not cut short."""
    before = {number: signal.signal(number, _stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(_number: int, _frame: FrameType | None) -> None:
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)
    raise Stopped


Server = Postgres | Valkey


class Tree:
    """Servers, and the parts that stand on them. `tell` prints a line: (who, what)."""

    def __init__(self, servers: Sequence[Server], tell: Callable[[str, str], None]) -> None:
        self.servers, self.parts, self.tell = servers, list[Part](), tell
        self._retry_at, self._pauses = dict[str, float](), dict[str, float]()

    def start_servers(self) -> None:
        """Returns once all of them answer. Raises CannotStart."""
        for server in self.servers:
            server.start()

    def start_part(self, part: Part) -> None:
        """Starts a part and watches it from now on."""
        part.start()
        self.parts.append(part)

    def watch(self, until: Callable[[], bool]) -> None:
        """Starts again what ends and prints what is said, until that is true."""
        while not until():
            self._tend_servers()
            for part in self.parts:
                self._pass_on(part)
                if said := part.tend():
                    self.tell("esweb", said)
            time.sleep(LOOK_SECONDS)
        for part in self.parts:
            self._pass_on(part)

    def stop_parts(self) -> None:
        """Asks all at once, waits for each, kills what does not end."""
        for part in self.parts:
            if part.process and part.process.poll() is None:
                part.process.terminate()
        give_up_at = time.monotonic() + PART_PATIENCE_SECONDS
        for part in self.parts:
            part.stop(max(0.0, give_up_at - time.monotonic()))

    def stop_servers(self) -> None:
        """The last to go, newest first."""
        for server in reversed(self.servers):
            server.stop()

    def _pass_on(self, part: Part) -> None:
        # A log may be gone for a moment, or for good where somebody tidied up: nothing to pass on then.
        with suppress(OSError):
            for line in part.new_lines():
                self.tell(part.name, line)

    def _tend_servers(self) -> None:
        for server in self.servers:
            has_ended = server.process is not None and server.process.poll() is not None
            if has_ended and time.monotonic() >= self._retry_at.get(server.name, 0.0):
                self._start_again(server)

    def _start_again(self, server: Server) -> None:
        """Start a server that ended. While that does not help, as on a full disk, the pauses between the tries grow."""
        self.tell("esweb", f"{server.name} ended; it is started again ({server.log} has more)")
        try:
            server.start()
        except CannotStart as error:
            pause = self._pauses.get(server.name, FIRST_WAIT_SECONDS)
            self.tell("esweb", f"{error} Trying again in {pause:.0f} s.")
            self._retry_at[server.name] = time.monotonic() + pause
            self._pauses[server.name] = min(2 * pause, LONGEST_WAIT_SECONDS)
        else:
            self._pauses.pop(server.name, None)
