"""Asks a scorer over HTTP. What cannot be had after all is ScorerFailed, never a number of its own making.

    scores = ScorerClient("http://node7:8000", token_file="/srv/secrets/scorer").score(prompts, responses)

Stdlib only.
"""

from __future__ import annotations

import http.client
import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from workers.bearer import BadToken, bearer, read_token, redacted
from workers.scorer.connections import Resolve, opener
from workers.scorer.scores import Scorer, ScorerFailed, ScorerRefused, Scores, paired

__all__ = ["Scorer", "ScorerClient", "ScorerFailed", "ScorerRefused", "Scores"]

FINAL = (400, 401, 403, 404, 405, 413, 422)
"""Answers that asking again does not change."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 30.0
PIECE_BYTES = 65536
MOST_BYTES = 64 * 1024 * 1024


class Final(Exception):
    """The scorer will not do this, now or later."""


class Busy(Exception):
    """The scorer has too much to do, and says for how many seconds to wait."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it is busy, and asks to come again in {seconds:g} s")
        self.seconds = seconds


class ScorerClient:
    """One scorer. Safe to use from several threads: nothing is kept between calls.

    `tries` of one batch are made before it fails; 0 means as many as the deadline allows, for a training that is to
    wait while its scorer comes back. A scorer that is busy is waited for in either case. `deadline_seconds` holds for
    a whole call, `timeout_seconds` for one try. `pause` sleeps between tries: give one that a request to stop ends.
    `resolve` returns the address to connect to for a host's name and port, or raises; without it any address is good.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        token_file: Path | str = "",
        batch_size: int = 64,
        tries: int = 3,
        timeout_seconds: float = 60.0,
        deadline_seconds: float = 300.0,
        pause: Callable[[float], None] = time.sleep,
        resolve: Resolve | None = None,
    ) -> None:
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"the scorer's address must begin with http:// or https://, not {url!r}")
        if batch_size < 1 or tries < 0:
            raise ValueError(f"batch_size must be at least 1 and tries at least 0, not {batch_size} and {tries}")
        self.url = url.rstrip("/")
        self._token, self._token_file = token, token_file
        self._batch_size, self._tries = batch_size, tries
        self._timeout_seconds, self._deadline_seconds = timeout_seconds, deadline_seconds
        self._pause = pause
        self._opener = opener(resolve)

    def score(self, prompts: Sequence[str], responses: Sequence[str]) -> list[Scores]:
        """One for each pair, in order. Raises ScorerFailed, ScorerRefused where asking again is of no use, and
        ValueError where the lengths differ."""
        if len(prompts) != len(responses):
            raise ValueError(f"there are {len(prompts)} prompts and {len(responses)} responses")
        deadline = time.monotonic() + self._deadline_seconds
        return [scores for pairs in self._batches(prompts, responses) for scores in self._batch(*pairs, deadline)]

    def _batches(self, prompts: Sequence[str], responses: Sequence[str]) -> Iterator[tuple[list[str], list[str]]]:
        for n in range(0, len(prompts), self._batch_size):
            part = slice(n, n + self._batch_size)
            yield list(prompts[part]), list(responses[part])

    def _batch(self, prompts: list[str], responses: list[str], deadline: float) -> list[Scores]:
        body = json.dumps({"prompts": prompts, "responses": responses}).encode()
        failures, why = 0, "the deadline was over before it was asked"
        while time.monotonic() < deadline:
            token = ""
            try:
                token = self._read_token()
                said = self._post(body, token, deadline)
                return paired(said.get("rewards"), said.get("costs"), len(prompts))
            # What a scorer says may repeat what it was sent: no message holds the token, and none names its cause.
            except Final as error:
                raise ScorerRefused(self._said(redacted(str(error), token))) from None
            except Busy as error:
                why, seconds = str(error), error.seconds
            except (OSError, http.client.HTTPException, ValueError) as error:
                failures += 1
                why, seconds = f"{redacted(_words(error), token)} ({_times(failures)})", _pause_after(failures)
                if failures == self._tries:
                    raise ScorerFailed(self._said(why)) from None
            self._pause(max(0.0, min(seconds, deadline - time.monotonic())))
        raise ScorerFailed(self._said(f"no scores within {self._deadline_seconds:g} s: {why}"))

    def _post(self, body: bytes, token: str, deadline: float) -> dict[str, Any]:
        """What it answers. Raises Final, Busy, OSError, HTTPException, ValueError."""
        seconds = max(0.01, min(self._timeout_seconds, deadline - time.monotonic()))
        headers = {"Content-Type": "application/json", **bearer(token)}
        request = urllib.request.Request(f"{self.url}/score_batch", body, headers, method="POST")  # noqa: S310 checked
        until = time.monotonic() + seconds
        try:
            with self._opener.open(request, timeout=seconds) as answer:
                said = json.loads(_read(answer, until))
        except urllib.error.HTTPError as error:
            raise _heeded(error) from error
        if not isinstance(said, dict):
            raise ValueError("the answer is no JSON object")
        return said

    def _read_token(self) -> str:
        """Return the token, empty for none. It is read each time, so that a renewed one is sent at once. Raise Final if
        it cannot be read or sent, and OSError if a disk may come back."""
        token = (_token_in(self._token_file) if self._token_file else self._token) or ""
        if not (token.isascii() and token.isprintable()):
            raise Final("its token must be one line of printable ASCII characters")
        return token

    def _said(self, why: str) -> str:
        return f"the scorer at {self.url} gave no scores: {why}"


def _token_in(file: Path | str) -> str:
    """Return the token in a file. Raise Final if it holds none, and OSError if its disk may come back."""
    try:
        return read_token(file)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError, BadToken) as error:
        raise Final(f"its token cannot be read: {error}") from error


def _read(answer: Any, until: float) -> bytes:
    """The body, in time as a whole: a socket's own timeout starts anew with each byte."""
    pieces, size = [], 0
    while piece := answer.read1(PIECE_BYTES):
        pieces.append(piece)
        size += len(piece)
        if time.monotonic() > until:
            raise TimeoutError("the answer did not end in time")
        if size > MOST_BYTES:
            raise ValueError(f"the answer is longer than {MOST_BYTES} bytes")
    return b"".join(pieces)


def _heeded(error: urllib.error.HTTPError) -> Exception:
    """Return what a status other than 200 means."""
    said = f"{error.code} {error.read(1000).decode(errors='replace')}".strip()
    if error.code in FINAL or 300 <= error.code < 400:
        return Final(said)
    wait = error.headers.get("Retry-After", "")
    if error.code in (429, 503) and wait.isdigit():
        return Busy(float(wait))
    return OSError(said)


def _pause_after(failures: int) -> float:
    """Twice as long each time, and a part of it by chance: clients that failed together do not come again together."""
    return min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 10)) * random.uniform(0.5, 1.0)


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _times(failures: int) -> str:
    return "asked once" if failures == 1 else f"asked {failures} times"
