"""The Jobs API, version 4: https://docs.ray.io/en/latest/cluster/running-applications/job-submission/rest.html

No reply, or a reply that is not Ray's, says nothing about any job. Nothing is ever deleted: a deleted name can be
submitted again.
"""

from __future__ import annotations

import functools
import ssl
from collections.abc import Mapping
from typing import Any

import httpx

from workers.bearer import BadToken, bearer, read_token, redacted
from workers.executors.base import Ambiguous, NotBegun, Rejected, Unreachable
from workers.executors.ray.nodes import Size, node_sizes
from workers.executors.ray.replies import Job

TIMEOUT_SECONDS = 30.0
"""A dashboard itself waits ten seconds for the part of Ray that takes jobs."""
MAX_MESSAGE_LENGTH = 500


class Jobs:
    """Client of a dashboard, with the token in the file; no file, no token."""

    def __init__(self, address: str, token_file: str = "") -> None:
        self.address, self.token_file = address.rstrip("/"), token_file

    def all(self) -> dict[str, Job]:
        """Return the jobs by key. Raise Unreachable."""
        rows = _json(self._ask("GET", "/api/jobs/"))
        try:
            jobs = [Job.parse(row) for row in rows]
        except (TypeError, KeyError, ValueError) as error:
            raise Unreachable(f"Ray's list of jobs cannot be read: {error!r}") from error
        return {job.key: job for job in jobs if job.key}

    def nodes(self) -> list[Size]:
        """Return the sizes of Ray's present nodes. This is not the Jobs API, so a proxy may block it. Raise
        Unreachable."""
        reply = _json(self._ask("GET", "/nodes?view=summary"))
        try:
            return node_sizes(reply)
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            raise Unreachable(f"Ray's list of nodes cannot be read: {error!r}") from error

    def get(self, key: str) -> Job | None:
        """Return one job; None if Ray answers that there is none. Raise Unreachable."""
        reply = self._ask("GET", f"/api/jobs/{key}", also=(404,))
        if reply.status_code == 404:
            self._check_reply_is_from_ray(reply, key)
            return None
        try:
            return Job.parse(_json(reply))
        except (TypeError, KeyError, ValueError) as error:
            raise Unreachable(f"Ray's report about {key} cannot be read: {error!r}") from error

    def submit(self, key: str, request: Mapping[str, Any]) -> None:
        """Submit the job, or find that it was submitted. Raise Rejected, Ambiguous, or NotBegun if nothing was sent."""
        try:
            reply = self._ask("POST", "/api/jobs/", request, also=(400, 404, 500))
        except NotBegun:
            raise
        except Unreachable as error:
            raise Ambiguous(str(error)) from error
        message = _last_line(reply.text)
        if reply.status_code == 400:
            raise Rejected(message)
        if reply.status_code == 404:
            raise NotBegun(f"there is no Jobs API at {self.address}")
        if reply.status_code != 200 and not ("already exists" in reply.text and self._has(key)):
            raise Ambiguous(f"Ray answered {reply.status_code}: {message}")

    def stop(self, key: str) -> None:
        """Ask Ray to stop the job. Its reply says nothing: it is True even for a job that waits. Raise Unreachable."""
        reply = self._ask("POST", f"/api/jobs/{key}/stop", also=(404,))
        if reply.status_code == 404:
            self._check_reply_is_from_ray(reply, key)

    def _has(self, key: str) -> bool:
        try:
            return self.get(key) is not None
        except Unreachable:
            return False

    def _check_reply_is_from_ray(self, reply: httpx.Response, key: str) -> None:
        """Check that a 404 comes from Ray, which names the job; any web server may send one. Raise Unreachable."""
        if f"Job {key} does not exist" not in reply.text:
            raise Unreachable(f"there is no Jobs API at {self.address}")

    def _ask(self, method: str, path: str, body: Any = None, also: tuple[int, ...] = ()) -> httpx.Response:
        """Return the reply if it is 200 or one of these. Raise Unreachable, as NotBegun if it let nobody in. No message
        repeats the token."""
        token = self._token()
        try:
            # No proxy, no .netrc, no redirect: the token goes to this address and nowhere else.
            with httpx.Client(verify=_ssl_context(), trust_env=False, timeout=TIMEOUT_SECONDS) as client:
                reply = client.request(method, self.address + path, json=body, headers=bearer(token))
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.InvalidURL) as error:
            raise NotBegun(f"nothing answers at {self.address}: {error or type(error).__name__}") from error
        except httpx.HTTPError as error:
            raise Unreachable(f"{self.address} does not answer: {error or type(error).__name__}") from error
        if reply.status_code in (401, 403):
            message = redacted(reply.text.strip()[:MAX_MESSAGE_LENGTH], token)
            raise NotBegun(f"{self.address} refuses access: see token_file ({message})")
        if reply.status_code not in (200, *also):
            message = redacted(_last_line(reply.text), token)
            raise Unreachable(f"{self.address} answered {reply.status_code}: {message}")
        return reply

    def _token(self) -> str:
        """Return the token, empty for none; it is read each time, so that a renewed token takes effect immediately."""
        try:
            return read_token(self.token_file) if self.token_file else ""
        except (OSError, BadToken) as error:
            raise NotBegun(f"the token in {self.token_file} cannot be read: {error}") from error


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """Return the machine's own certificates: a dashboard is mostly behind an organisation's own."""
    return ssl.create_default_context()


def _json(reply: httpx.Response) -> Any:
    try:
        return reply.json()
    except ValueError as error:
        raise Unreachable(f"{reply.url} did not return JSON: {reply.text[:MAX_MESSAGE_LENGTH]!r}") from error


def _last_line(text: str) -> str:
    """Return the last line of a text: in a traceback, Ray states there what was wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" .^~\t")]
    return lines[-1][:MAX_MESSAGE_LENGTH] if lines else "nothing"
