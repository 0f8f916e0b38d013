"""Sends a run's records to an esweb server while they are written: the very lines of its file, from a cursor.

An accelerator, never a dependency. Any error here is logged and the training continues; records that were not sent are
in the file. The server drops records that it has already, so nothing counts twice.
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
"""Seconds for which the end of a run waits for a server that is away."""
MAX_PAUSE_SECONDS = 60.0
FINAL_CODES = (400, 401, 403, 404, 415, 422)
TOO_LARGE = 413
"""Status codes that a repeated request does not change."""


class Refused(Exception):
    """The server will not take these records, now or later."""


class Busy(Exception):
    """The server is overloaded, and names the seconds to wait."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the server is busy; retrying in {seconds:g} s")
        self.seconds = seconds


@contextlib.contextmanager
def push_records(tracking: TrackingConfig, directory: Path, epoch: int) -> Iterator[None]:
    """Push while the block runs, and the rest when it ends. Do nothing if the config names no server."""
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
        self.max_lines = PIECE_LINES
        self.end = threading.Event()

    def run(self) -> None:
        """Send until the end is set and nothing is left, or the server refuses."""
        pause = EVERY_SECONDS
        while True:
            ended = self.end.wait(pause)
            try:
                more = self.send()
                pause = 0.0 if more else EVERY_SECONDS
                if ended and not more:
                    return
            except Refused as error:
                _log(f"records are no longer pushed: {error}")
                return
            except Busy as busy:
                # This also holds at the end: the server lives and will take them, as long as the run's patience lasts.
                time.sleep(busy.seconds)
                pause = 0.0
            except (OSError, http.client.HTTPException) as error:
                pause = min(MAX_PAUSE_SECONDS, max(EVERY_SECONDS, 2 * pause))
                _log(f"records could not be pushed; retrying in {pause:.0f} s: {error}")
                if ended:
                    return

    def send(self) -> bool:
        """Send the next piece of whole lines. Return True if one was sent.

        Raise Refused, Busy, OSError, HTTPException.
        """
        piece = self._piece()
        if not piece:
            return False
        try:
            self._post(piece)
        except urllib.error.HTTPError as error:
            self._handle_refusal(error, lines=piece.count(b"\n"))
            return True
        self.offset += len(piece)
        return True

    def _piece(self) -> bytes:
        with self.path.open("rb") as file:
            file.seek(self.offset)
            data = file.read(PIECE_BYTES)
            if data and b"\n" not in data:
                data += file.readline()
        return b"".join(islice(BytesIO(data[: data.rfind(b"\n") + 1]), self.max_lines))

    def _post(self, piece: bytes) -> None:
        headers = {**bearer(self._token()), "Content-Type": "application/jsonl", "Content-Encoding": "gzip"}
        request = urllib.request.Request(self.url, gzip.compress(piece, 1), headers, method="POST")  # noqa: S310 checked
        with OPENER.open(request, timeout=30) as answer:
            answer.read()

    def _token(self) -> str:
        """Return the token, read each time so that a renewed one takes effect immediately. Raise Refused, OSError."""
        try:
            return read_token(self.token_file) if self.token_file else ""
        except BadToken as error:
            raise Refused(str(error)) from error

    def _handle_refusal(self, error: urllib.error.HTTPError, lines: int) -> None:
        """React to a refused piece of so many lines: after 409 continue from the record that the server names, after
        413 send half as many, after 429 wait as long as it says. Other errors are final, or raised for another try."""
        body = error.read(4096)
        if error.code == 409:
            self.offset = self._offset_of(int(json.loads(body)["expected"]))
        elif error.code == TOO_LARGE and lines > 1:
            self.max_lines = lines // 2
        elif error.code == 429:
            retry_after = error.headers.get("Retry-After", "")
            raise Busy(min(MAX_PAUSE_SECONDS, float(retry_after) if retry_after.isdecimal() else EVERY_SECONDS))
        elif error.code in (*FINAL_CODES, TOO_LARGE) or 300 <= error.code < 400:
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


def _log(message: str) -> None:
    # The log may be on a disk that is full.
    with contextlib.suppress(OSError):
        print(f"push: {message}", file=sys.stderr, flush=True)
