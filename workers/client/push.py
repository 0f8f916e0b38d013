"""Sends a run's records to an esweb server while they are written: the very lines of its file, from a cursor.

An accelerator, never a dependency. Whatever goes wrong here is said in the log and the training goes on; what was not
sent stands in the file. The server drops what it knows already, so nothing counts twice.
"""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from pathlib import Path

from workers.bearer import OPENER, BadToken, bearer, read_token, redacted
from workers.config import TrackingConfig
from workers.records import records_path

PIECE_BYTES = 1024 * 1024
PIECE_LINES = 1000
EVERY_SECONDS = 0.5
PATIENCE_SECONDS = 15.0
"""How long the end of a run waits for a server that is away."""
LONGEST_PAUSE_SECONDS = 60.0
FINAL = (400, 401, 403, 404, 415, 422)
TOO_LARGE = 413
"""Answers that asking again does not change."""


class Refused(Exception):
    """The server will not take these records, now or later."""


class Busy(Exception):
    """The server has too much to do, and says for how many seconds to wait."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the server is busy, next try in {seconds:g} s")
        self.seconds = seconds


@contextlib.contextmanager
def pushing(tracking: TrackingConfig, directory: Path, epoch: int) -> Iterator[None]:
    """Pushes while the block runs, and what is left when it ends. Does nothing where the config names no server."""
    if not tracking.push_url:
        yield
        return
    pusher = Pusher(tracking, directory.resolve(), epoch)
    thread = threading.Thread(target=pusher.run, name="push", daemon=True)
    thread.start()
    try:
        yield
    finally:
        pusher.end.set()
        thread.join(PATIENCE_SECONDS)


class Pusher:
    """One epoch's file and how far it has been sent. The folder's name is the attempt's key."""

    def __init__(self, tracking: TrackingConfig, directory: Path, epoch: int) -> None:
        base = tracking.push_url.rstrip("/")
        if urllib.parse.urlsplit(base).scheme not in ("http", "https"):
            raise ValueError(f"tracking.push_url must begin with http:// or https://, not {base!r}")
        self.url = f"{base}/api/v1/attempts/{directory.name}/records?epoch={epoch}"
        self.token_file = tracking.token_file
        self.path = records_path(directory, epoch)
        self.offset = 0
        self.most_lines = PIECE_LINES
        self.end = threading.Event()

    def run(self) -> None:
        """Sends until the end is set and nothing is left, or the server refuses."""
        pause = EVERY_SECONDS
        while True:
            ended = self.end.wait(pause)
            try:
                more = self.send()
                pause = 0.0 if more else EVERY_SECONDS
                if ended and not more:
                    return
            except Refused as error:
                _say(f"the records are no longer pushed: {error}")
                return
            except Busy as busy:
                # At the end too: it lives and will take them, as long as the run's patience lasts.
                time.sleep(busy.seconds)
                pause = 0.0
            except (OSError, http.client.HTTPException) as error:
                pause = min(LONGEST_PAUSE_SECONDS, max(EVERY_SECONDS, 2 * pause))
                _say(f"the records could not be pushed, next try in {pause:.0f} s: {error}")
                if ended:
                    return

    def send(self) -> bool:
        """Sends the next piece of whole lines. True where one was sent.

        Raises Refused, Busy, OSError, HTTPException.
        """
        piece = self._piece()
        if not piece:
            return False
        try:
            self._post(piece)
        except urllib.error.HTTPError as error:
            self._heed(error, lines=piece.count(b"\n"))
            return True
        self.offset += len(piece)
        return True

    def _piece(self) -> bytes:
        with self.path.open("rb") as file:
            file.seek(self.offset)
            data = file.read(PIECE_BYTES)
            if data and b"\n" not in data:
                data += file.readline()
        return b"".join(islice(BytesIO(data[: data.rfind(b"\n") + 1]), self.most_lines))

    def _post(self, piece: bytes) -> None:
        headers = {**bearer(self._token()), "Content-Type": "application/jsonl", "Content-Encoding": "gzip"}
        request = urllib.request.Request(self.url, gzip.compress(piece, 1), headers, method="POST")  # noqa: S310 checked
        with OPENER.open(request, timeout=30) as answer:
            answer.read()

    def _token(self) -> str:
        """Return the token, read each time so that a renewed one holds at once. Raise Refused, OSError."""
        try:
            return read_token(self.token_file) if self.token_file else ""
        except BadToken as error:
            raise Refused(str(error)) from error

    def _heed(self, error: urllib.error.HTTPError, lines: int) -> None:
        """Do what the server says about a piece of so many lines: after 409 go on from the record that it names, after
        413 send half as many, after 429 wait as long as it says. Others are final, or raised for another try."""
        body = error.read(4096)
        if error.code == 409:
            self.offset = self._offset_of(int(json.loads(body)["expected"]))
        elif error.code == TOO_LARGE and lines > 1:
            self.most_lines = lines // 2
        elif error.code == 429:
            asked = error.headers.get("Retry-After", "")
            raise Busy(min(LONGEST_PAUSE_SECONDS, float(asked) if asked.isdecimal() else EVERY_SECONDS))
        elif error.code in (*FINAL, TOO_LARGE) or 300 <= error.code < 400:
            raise Refused(redacted(f"{error.code} {body.decode(errors='replace')[:500]}", self._token()))
        else:
            raise error

    def _offset_of(self, seq: int) -> int:
        """Return the byte at which the record of that seq begins. Each line is one record; seq counts from 0."""
        offset = 0
        with self.path.open("rb") as file:
            for _ in range(seq):
                offset += len(file.readline())
        return offset


def _say(words: str) -> None:
    # The log may be on a disk that is full.
    with contextlib.suppress(OSError):
        print(f"push: {words}", file=sys.stderr, flush=True)
