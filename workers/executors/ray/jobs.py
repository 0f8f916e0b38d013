"""The Jobs API, version 4: https://docs.ray.io/en/latest/cluster/running-applications/job-submission/rest.html

No answer, and no answer of Ray's, says nothing about any job. Nothing is ever deleted: a name that was deleted can be
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
from workers.executors.ray.answers import Job
from workers.executors.ray.nodes import Size, sizes

TIMEOUT_SECONDS = 30.0
"""A dashboard waits ten seconds itself for the part of Ray that takes jobs."""
WORDS = 500


class Jobs:
    """A dashboard at an address, asked with the token that the file holds; no file, no token."""

    def __init__(self, address: str, token_file: str = "") -> None:
        self.address, self.token_file = address.rstrip("/"), token_file

    def all(self) -> dict[str, Job]:
        """By key. Raises Unreachable."""
        found = _json(self._ask("GET", "/api/jobs/"))
        try:
            jobs = [Job.of(one) for one in found]
        except (TypeError, KeyError, ValueError) as error:
            raise Unreachable(f"Ray's list of jobs cannot be read: {error!r}") from error
        return {job.key: job for job in jobs if job.key}

    def nodes(self) -> list[Size]:
        """Of the nodes that Ray has now. Not of the Jobs API, so that a proxy may keep it back. Raises Unreachable."""
        answer = _json(self._ask("GET", "/nodes?view=summary"))
        try:
            return sizes(answer)
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            raise Unreachable(f"Ray's list of nodes cannot be read: {error!r}") from error

    def get(self, key: str) -> Job | None:
        """One job; None where Ray answers that there is none. Raises Unreachable."""
        answer = self._ask("GET", f"/api/jobs/{key}", also=(404,))
        if answer.status_code == 404:
            self._see_that_ray_says_so(answer, key)
            return None
        try:
            return Job.of(_json(answer))
        except (TypeError, KeyError, ValueError) as error:
            raise Unreachable(f"what Ray says about {key} cannot be read: {error!r}") from error

    def submit(self, key: str, request: Mapping[str, Any]) -> None:
        """Submits it, or finds that it was. Raises Rejected, Ambiguous, or NotBegun where nothing was sent."""
        try:
            answer = self._ask("POST", "/api/jobs/", request, also=(400, 404, 500))
        except NotBegun:
            raise
        except Unreachable as error:
            raise Ambiguous(str(error)) from error
        said = _last_line(answer.text)
        if answer.status_code == 400:
            raise Rejected(said)
        if answer.status_code == 404:
            raise NotBegun(f"there is no Jobs API at {self.address}")
        if answer.status_code != 200 and not ("already exists" in answer.text and self._has(key)):
            raise Ambiguous(f"Ray answered {answer.status_code}: {said}")

    def stop(self, key: str) -> None:
        """Asks for its end. Its answer is worth nothing: of a job that waits it says True. Raises Unreachable."""
        answer = self._ask("POST", f"/api/jobs/{key}/stop", also=(404,))
        if answer.status_code == 404:
            self._see_that_ray_says_so(answer, key)

    def _has(self, key: str) -> bool:
        try:
            return self.get(key) is not None
        except Unreachable:
            return False

    def _see_that_ray_says_so(self, answer: httpx.Response, key: str) -> None:
        """Any web server says 404; Ray says of which job. Raises Unreachable."""
        if f"Job {key} does not exist" not in answer.text:
            raise Unreachable(f"there is no Jobs API at {self.address}")

    def _ask(self, method: str, path: str, body: Any = None, also: tuple[int, ...] = ()) -> httpx.Response:
        """Return the reply if it is 200 or one of these. Raise Unreachable, as NotBegun if it let nobody in. No message
        repeats the token."""
        token = self._token()
        try:
            # No proxy, no .netrc, no redirect: the token goes to this address and nowhere else.
            with httpx.Client(verify=_trusted(), trust_env=False, timeout=TIMEOUT_SECONDS) as client:
                answer = client.request(method, self.address + path, json=body, headers=bearer(token))
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.InvalidURL) as error:
            raise NotBegun(f"nobody answers at {self.address}: {error or type(error).__name__}") from error
        except httpx.HTTPError as error:
            raise Unreachable(f"{self.address} gives no answer: {error or type(error).__name__}") from error
        if answer.status_code in (401, 403):
            said = redacted(answer.text.strip()[:WORDS], token)
            raise NotBegun(f"{self.address} does not let us in: see token_file ({said})")
        if answer.status_code not in (200, *also):
            said = redacted(_last_line(answer.text), token)
            raise Unreachable(f"{self.address} answered {answer.status_code}: {said}")
        return answer

    def _token(self) -> str:
        """Return the token, empty for none; it is read each time, so that a renewed one holds at once."""
        try:
            return read_token(self.token_file) if self.token_file else ""
        except (OSError, BadToken) as error:
            raise NotBegun(f"the token in {self.token_file} cannot be read: {error}") from error


@functools.cache
def _trusted() -> ssl.SSLContext:
    """The machine's own certificates: a dashboard is mostly behind a house's own."""
    return ssl.create_default_context()


def _json(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError as error:
        raise Unreachable(f"{answer.url} answered no JSON: {answer.text[:WORDS]!r}") from error


def _last_line(text: str) -> str:
    """Of a traceback, which is how Ray says what was wrong."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" .^~\t")]
    return lines[-1][:WORDS] if lines else "nothing"
