"""Calls of the server's API with a token: no redirect is followed, and no message repeats the token."""

from __future__ import annotations

import gzip
import http.client
import json
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

MAX_PAUSE_SECONDS = 60.0
MAX_RESPONSE_BYTES = 1024 * 1024
HIDDEN = "•••"


class NoRedirectHandler(urllib.request.HTTPRedirectHandler):
    """A handler that treats a redirect as an error: following it would show the token to another server."""

    def redirect_request(self, *args: Any, **more: Any) -> None:
        return None


OPENER = urllib.request.build_opener(NoRedirectHandler)


class Unreachable(Exception):
    """The server cannot be reached, or does not respond like a server of this kind. `is_refused` if nothing listens."""

    def __init__(self, message: str, *, is_refused: bool = False) -> None:
        super().__init__(message)
        self.is_refused = is_refused


class Refusal(Exception):
    """The server refused a request. `body` is its response, `retry_after` the seconds that it names."""

    def __init__(self, status: int, body: dict[str, Any], message: str, retry_after: float | None) -> None:
        super().__init__(message)
        self.status, self.body, self.retry_after = status, body, retry_after

    @property
    def problems(self) -> list[tuple[str, str]]:
        """Return (path, message) of each problem that the response names."""
        problems = self.body.get("problems")
        entries = problems if isinstance(problems, list) else []
        return [(str(p.get("path", "")), str(p.get("message", ""))) for p in entries if isinstance(p, dict)]


@dataclass(frozen=True)
class Server:
    """The address of a server, without a slash at its end, and a token for it."""

    url: str
    token: str = field(repr=False)

    def post(
        self,
        path: str,
        body: bytes,
        content_type: str = "application/json",
        timeout: float = 30.0,
        *,
        compress: bool = False,
    ) -> dict[str, Any]:
        """Return the response to a POST below /api/v1. Raise Refusal or Unreachable."""
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": content_type,
            "Accept": "application/json",
        }
        if compress:
            body, headers["Content-Encoding"] = gzip.compress(body, 1), "gzip"
        if urlsplit(self.url).scheme not in ("http", "https"):
            raise Unreachable(f"the server's address must begin with http:// or https://, not {self.url!r}")
        try:
            request = urllib.request.Request(  # noqa: S310 (checked above)
                f"{self.url}/api/v1/{path}", body, headers, method="POST"
            )
            with OPENER.open(request, timeout=timeout) as response:
                return _parse(response.read(MAX_RESPONSE_BYTES))
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            message = self._hide(str(reason) or type(reason).__name__)
            raise Unreachable(message, is_refused=isinstance(reason, (ConnectionRefusedError,))) from None

    def post_json(self, path: str, body: Any, timeout: float = 30.0) -> dict[str, Any]:
        """Return the response to a POST of JSON. Raise Refusal or Unreachable."""
        return self.post(path, json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"), timeout=timeout)

    def _refusal(self, error: urllib.error.HTTPError) -> Refusal:
        try:
            body = _parse(error.read(MAX_RESPONSE_BYTES))
        except (OSError, http.client.HTTPException, ValueError):
            body = {}
        detail = str(body.get("detail", "")) or str(error.reason)
        return Refusal(error.code, body, self._hide(f"{error.code} {detail}")[:1000], _retry_after(error))

    def _hide(self, text: str) -> str:
        return text.replace(self.token, HIDDEN) if self.token else text


def _parse(data: bytes) -> dict[str, Any]:
    """Return the object of a response. Raise ValueError if it is none: then it was not the server that responded."""
    body = json.loads(data or b"{}")
    if not isinstance(body, dict):
        raise ValueError("the response is not an object")
    return body


def _retry_after(error: urllib.error.HTTPError) -> float | None:
    text = error.headers.get("Retry-After", "")
    return min(MAX_PAUSE_SECONDS, float(text)) if text.isdecimal() else None
