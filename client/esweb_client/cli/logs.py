"""`esweb logs RUN`: print the log of an attempt, and with --follow each new line until the run ends."""

from __future__ import annotations

import argparse
import time
from typing import Any

from esweb_client.cli.account import account
from esweb_client.cli.errors import AWAY, BAD_INPUT, ENDED_BADLY, NOT_FOUND, Failure, print_failure
from esweb_client.cli.output import plain, print_json
from esweb_client.cli.server import Server
from esweb_client.cli.watch import EVERY_SECONDS, OPEN_STATES, will_restart


def add(command: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    command.add_argument("uid", metavar="RUN", help="uid of the run")
    command.add_argument("-f", "--follow", action="store_true", help="print new lines until the run ends")
    command.add_argument("-n", "--lines", type=int, metavar="LINES", help="print only the last LINES lines (all)")
    command.add_argument("--attempt", type=int, metavar="N", help="number of the attempt (the newest)")
    command.add_argument(
        "--every", type=float, default=EVERY_SECONDS, metavar="SECONDS", help="seconds between updates (2)"
    )
    command.set_defaults(run=logs)


def logs(options: argparse.Namespace) -> int:
    """Print the log; with --follow return 0 if the run, or the chosen attempt, succeeded."""
    if options.lines is not None and options.lines < 0:
        raise Failure(BAD_INPUT, f"--lines must be a number from 0, not {options.lines}")
    server = Server(account())
    attempt = _select_attempt(server.get(f"runs/{options.uid}"), options.attempt)
    if attempt is None and not options.follow:
        raise Failure(NOT_FOUND, f"run {options.uid} has no attempt yet, so it has no log")
    reader = LogReader(server, as_json=options.json)
    if attempt is not None:
        reader.select(attempt)
        reader.skip_to_last(options.lines)
    if options.follow:
        return _follow(server, reader, options)
    reader.print_new_lines()
    reader.print_unfinished()
    if reader.size == 0:
        raise Failure(NOT_FOUND, f"attempt {reader.n} of run {options.uid} has no log yet")
    return 0


class LogReader:
    """Reads the log of one attempt at a time, page by page, and prints its lines."""

    def __init__(self, server: Server, *, as_json: bool) -> None:
        self.server = server
        self.as_json = as_json
        self.key, self.n, self.position, self.size = "", 0, 0, 0
        self.unfinished = ""

    def select(self, attempt: dict[str, Any]) -> None:
        """Read the log of this attempt from its beginning on. The attempt that is being read goes on."""
        if attempt["key"] != self.key:
            self.key, self.n, self.position, self.size = attempt["key"], attempt["n"], 0, 0
            self.unfinished = ""

    def skip_to_last(self, lines: int | None) -> None:
        """Print only the last `lines` lines of those that exist; skip none if `lines` is None."""
        if lines is None:
            return
        page = self._page({})
        pages, first = [page], page
        while sum(len(p["lines"]) for p in pages) < lines and first["start"] > 0:
            first = self._page({"until": first["start"]})
            pages.insert(0, first)
        texts = [line for p in pages for line in p["lines"]]
        self._print(texts[max(0, len(texts) - lines) :])
        self.position, self.size, self.unfinished = page["end"], page["size"], page["unfinished"]

    def print_new_lines(self) -> None:
        """Print the lines that have their end, from the position on."""
        while True:
            page = self._page({"start": self.position})
            self.size, self.unfinished = page["size"], page["unfinished"]
            if page["end"] <= self.position:
                return
            self._print(page["lines"])
            self.position = page["end"]
            if self.position >= self.size:
                return

    def print_unfinished(self) -> None:
        """Print the last line, such as a progress bar, that has no end."""
        self._print([self.unfinished] if self.unfinished else [])

    def _page(self, query: dict[str, int]) -> dict[str, Any]:
        page: dict[str, Any] = self.server.get(f"attempts/{self.key}/log", query)
        return page

    def _print(self, lines: list[str]) -> None:
        for line in lines:
            print_json({"attempt": self.n, "line": line}) if self.as_json else print(
                plain(line.expandtabs()), flush=True
            )


def _follow(server: Server, reader: LogReader, options: argparse.Namespace) -> int:
    """Print new lines until the end, and return the exit code. A server that goes away is waited for."""
    while True:
        try:
            code = _follow_once(server, reader, options)
        except Failure as failure:
            if failure.code != AWAY:
                raise
            code = None
            print_failure(failure, as_json=options.json)
        if code is not None:
            return code
        time.sleep(max(options.every, 0.1))


def _follow_once(server: Server, reader: LogReader, options: argparse.Namespace) -> int | None:
    """Print the lines that are new now. Return the exit code if nothing follows, else None.

    A resumed run continues with the log of its new attempt, unless --attempt selects one.
    """
    # The state is read before the log: lines that were written until the end are then in the log.
    run = server.get(f"runs/{options.uid}")
    attempt = _select_attempt(run, options.attempt)
    if attempt is not None:
        if reader.key not in ("", attempt["key"]):
            reader.print_new_lines()
            reader.print_unfinished()
        reader.select(attempt)
        reader.print_new_lines()
    state = run["state"] if options.attempt is None or attempt is None else attempt["state"]
    if state in OPEN_STATES or (options.attempt is None and will_restart(run)):
        return None
    if attempt is not None:
        reader.print_unfinished()
    return 0 if state == "succeeded" else ENDED_BADLY


def _select_attempt(run: dict[str, Any], n: int | None) -> dict[str, Any] | None:
    """Return the attempt with this number, or the newest; None if the run has none yet. Raise Failure."""
    attempts: list[dict[str, Any]] = run["attempts"]
    if n is None:
        return attempts[-1] if attempts else None
    for attempt in attempts:
        if attempt["n"] == n:
            return attempt
    choices = ", ".join(str(attempt["n"]) for attempt in attempts) or "none yet"
    raise Failure(BAD_INPUT, f"--attempt must be one of {choices}, not {n}")
