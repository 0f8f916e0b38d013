"""Request scores over HTTP. A scorer that gives none raises ScorerFailed; no number is ever made up.

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
from workers.outgoing import (
    Entries,
    HostNotAllowed,
    InvalidReply,
    describe_failure,
    describe_status,
    opener,
)
from workers.scorer.scores import Scorer, ScorerFailed, ScorerRefused, Scores, parse_scores

__all__ = ["Scorer", "ScorerClient", "ScorerFailed", "ScorerRefused", "Scores"]

FINAL = (400, 401, 403, 404, 405, 413, 422)
"""Statuses that another try does not change."""
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.5, 30.0
CHUNK_BYTES = 65536
MAX_BYTES = 64 * 1024 * 1024


class PermanentFailure(Exception):
    """The scorer will not answer this request, now or later."""


class ScorerBusy(Exception):
    """The scorer is overloaded, and asks to wait so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it is busy; next try in {seconds:g} s")
        self.seconds = seconds


class ScorerClient:
    """A client of one scorer. It is safe to use from several threads: nothing is stored between calls.

    `tries` of one batch are made before it fails; 0 means as many as the deadline allows, for a training that is to
    wait while its scorer comes back. The client waits for a busy scorer in either case. `deadline_seconds` applies to a
    whole call, `timeout_seconds` to one try. `pause` sleeps between tries: pass one that a request to stop ends.
    `hosts` are the entries of the allowed hosts; None allows any. Only checked addresses are connected to. Raise
    ScorerRefused if the host is not allowed."""

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
        hosts: Entries = None,
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
        try:
            self._opener = opener(self.url, hosts)
        except HostNotAllowed as error:
            raise ScorerRefused(self._message(str(error))) from None

    def score(self, prompts: Sequence[str], responses: Sequence[str]) -> list[Scores]:
        """Return the scores of each pair, in order. Raise ScorerFailed, ScorerRefused if another try is of no use, and
        ValueError if the lengths differ."""
        if len(prompts) != len(responses):
            raise ValueError(f"there are {len(prompts)} prompts and {len(responses)} responses")
        deadline = time.monotonic() + self._deadline_seconds
        return [scores for pairs in self._batches(prompts, responses) for scores in self._score_batch(*pairs, deadline)]

    def _batches(self, prompts: Sequence[str], responses: Sequence[str]) -> Iterator[tuple[list[str], list[str]]]:
        for n in range(0, len(prompts), self._batch_size):
            part = slice(n, n + self._batch_size)
            yield list(prompts[part]), list(responses[part])

    def _score_batch(self, prompts: list[str], responses: list[str], deadline: float) -> list[Scores]:
        body = json.dumps({"prompts": prompts, "responses": responses}).encode()
        failures, reason = 0, "the deadline passed before the request"
        while time.monotonic() < deadline:
            token = ""
            try:
                token = self._read_token()
                return parse_scores(self._post(body, token, deadline), len(prompts))
            # No message holds the token, or what the scorer sent, and none names its cause.
            except (PermanentFailure, HostNotAllowed) as error:
                raise ScorerRefused(self._message(redacted(str(error), token))) from None
            except ScorerBusy as error:
                reason, seconds = str(error), error.seconds
            except (OSError, http.client.HTTPException, ValueError) as error:
                failures += 1
                reason, seconds = (
                    f"{redacted(describe_failure(error), token)} ({_count_attempts(failures)})",
                    _pause_after(failures),
                )
                if failures == self._tries:
                    raise ScorerFailed(self._message(reason)) from None
            self._pause(max(0.0, min(seconds, deadline - time.monotonic())))
        raise ScorerFailed(self._message(f"no scores within {self._deadline_seconds:g} s: {reason}"))

    def _post(self, body: bytes, token: str, deadline: float) -> bytes:
        """Return the scorer's reply. Raise PermanentFailure, HostNotAllowed, ScorerBusy, OSError, HTTPException or
        ValueError."""
        seconds = max(0.01, min(self._timeout_seconds, deadline - time.monotonic()))
        headers = {"Content-Type": "application/json", **bearer(token)}
        request = urllib.request.Request(f"{self.url}/score_batch", body, headers, method="POST")  # noqa: S310 checked
        read_deadline = time.monotonic() + seconds
        try:
            with self._opener.open(request, timeout=seconds) as response:
                return _read(response, read_deadline)
        except urllib.error.HTTPError as error:
            error.close()
            raise _failure_for_status(error) from error

    def _read_token(self) -> str:
        """Return the token, empty for none. It is read each time, so that a renewed one is used immediately. Raise
        PermanentFailure if it cannot be read or sent, and OSError if a disk may come back."""
        token = (_token_in(self._token_file) if self._token_file else self._token) or ""
        if not (token.isascii() and token.isprintable()):
            raise PermanentFailure("its token must be one line of printable ASCII characters")
        return token

    def _message(self, reason: str) -> str:
        return f"the scorer at {self.url} gave no scores: {reason}"


def _token_in(file: Path | str) -> str:
    """Return the token in a file. Raise PermanentFailure if it holds none, and OSError if its disk may come back."""
    try:
        return read_token(file)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError, BadToken) as error:
        raise PermanentFailure(f"its token cannot be read: {error}") from error


def _read(response: Any, deadline: float) -> bytes:
    """Return the body within a total time limit: a socket's own timeout starts again with each byte."""
    chunks, size = [], 0
    while chunk := response.read1(CHUNK_BYTES):
        chunks.append(chunk)
        size += len(chunk)
        if time.monotonic() > deadline:
            raise TimeoutError("the response did not end in time")
        if size > MAX_BYTES:
            raise InvalidReply(f"the response is longer than {MAX_BYTES} bytes")
    return b"".join(chunks)


def _failure_for_status(error: urllib.error.HTTPError) -> Exception:
    """Return the exception for a status other than 200."""
    message = describe_status(error.code)
    if error.code in FINAL or 300 <= error.code < 400:
        return PermanentFailure(message)
    wait = error.headers.get("Retry-After", "")
    if error.code in (429, 503) and wait.isascii() and wait.isdigit():
        return ScorerBusy(float(wait))
    return OSError(message)


def _pause_after(failures: int) -> float:
    """Double the pause each time, with a random part: clients that failed together do not come again together."""
    return min(MAX_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 10)) * random.uniform(0.5, 1.0)


def _count_attempts(failures: int) -> str:
    return "asked once" if failures == 1 else f"asked {failures} times"
