"""Call the REST API, and turn every way in which that can fail into a Failure with a sentence."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from esweb_client.cli import errors
from esweb_client.cli.account import Account
from esweb_client.cli.errors import Failure

TIMEOUT_SECONDS = 60
TRIES = 3
MAX_WAIT_SECONDS = 60
CODES = {
    400: errors.BAD_INPUT,
    401: errors.NOT_ALLOWED,
    403: errors.NOT_ALLOWED,
    404: errors.NOT_FOUND,
    422: errors.BAD_INPUT,
}
Query = Mapping[str, Any]
Result = TypeVar("Result")


class NoRedirectHandler(urllib.request.HTTPRedirectHandler):
    """A handler that treats a redirect as an error: following it would show the token to another server."""

    def redirect_request(self, *args: Any, **more: Any) -> None:
        return None


class Server:
    """One server, seen with one token. Lost calls are sent again: calls that create something carry a key."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self._opener = urllib.request.build_opener(NoRedirectHandler)
        self._cache: dict[str, tuple[str, Any]] = {}

    def get(self, path: str, query: Query | None = None) -> Any:
        """Return the data at an address below /api/v1. Unchanged data is not sent again. Raise Failure."""
        address = self._address(path, query)
        etag, cached = self._cache.get(address, ("", None))
        headers = {"If-None-Match": etag} if etag else {}
        response = self._call(
            "GET", address, headers=headers, read=lambda reply: (reply.headers.get("ETag", ""), _json(reply))
        )
        if response is None:
            return cached
        tag, body = response
        self._cache = {address: (tag, body)}
        return body

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the response to a POST, which is done once even if it is sent several times. Raise Failure."""
        headers = {"Idempotency-Key": str(uuid.uuid4()), "Content-Type": "application/json"}
        return self._call("POST", self._address(path), json.dumps(body or {}).encode(), headers)

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """Change the object at an address, and return the response. Raise Failure."""
        headers = {"Content-Type": "application/json"}
        return self._call("PATCH", self._address(path), json.dumps(body).encode(), headers)

    def delete(self, path: str) -> None:
        """Remove the object at an address. Raise Failure."""
        self._call("DELETE", self._address(path))

    def upload(self, path: str, body: bytes, content_type: str) -> Any:
        """Return the response to a POST of a form with files, which is safe to repeat. Raise Failure."""
        return self._call("POST", self._address(path), body, {"Content-Type": content_type})

    def download(
        self, path: str, read: Callable[[http.client.HTTPResponse], Result], query: Query | None = None
    ) -> Result:
        """Return what `read` makes of the response at an address. Raise Failure.

        `read` is called again if the transfer breaks, which it reports by an OSError or HTTPException.
        """
        result: Result = self._call("GET", self._address(path, query), headers={"Accept": "*/*"}, read=read)
        return result

    def pages(self, path: str, query: Query, limit: int | None = None) -> Iterator[Any]:
        """Yield the items of a list, page after page, at most `limit` of them."""
        left = limit
        cursor = None
        while left is None or left > 0:
            page = self.get(path, {**query, "cursor": cursor, "limit": min(500, left or 500)})
            yield from page["items"]
            left = None if left is None else left - len(page["items"])
            cursor = page["next"]
            if cursor is None:
                return

    def _address(self, path: str, query: Query | None = None) -> str:
        params = {name: value for name, value in (query or {}).items() if value is not None}
        query_string = f"?{urlencode(params, doseq=True)}" if params else ""
        return f"{self.account.url}/api/v1/{quote(path)}{query_string}"

    def _call(
        self,
        method: str,
        address: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        read: Callable[[http.client.HTTPResponse], Any] | None = None,
    ) -> Any:
        """Return the response's JSON data, or what `read` makes of the response; None if it has not changed."""
        request_headers = {
            "Authorization": f"Bearer {self.account.token}",
            "Accept": "application/json",
            **(headers or {}),
        }
        for attempt in range(1, TRIES + 1):
            request = urllib.request.Request(address, body, request_headers, method=method)  # noqa: S310 (checked at login)
            try:
                with self._opener.open(request, timeout=TIMEOUT_SECONDS) as response:
                    return (read or _json)(response)
            except urllib.error.HTTPError as error:
                # An error is an open response too.
                with error:
                    if error.code == 304:
                        return None
                    wait = _wait_seconds(error)
                    if wait is None or attempt == TRIES:
                        raise _refusal(error) from error
            except (OSError, http.client.HTTPException, ValueError) as error:
                if attempt == TRIES:
                    raise Failure(errors.AWAY, f"{self.account.url} does not answer: {_reason(error)}") from error
                wait = attempt
            time.sleep(wait)
        raise AssertionError("unreachable")


def _json(response: http.client.HTTPResponse) -> Any:
    return json.loads(response.read() or b"null")


def _wait_seconds(error: urllib.error.HTTPError) -> int | None:
    """Return the seconds to wait before another try of the call; None if no try helps."""
    if error.code == 429:
        return min(MAX_WAIT_SECONDS, int(error.headers.get("Retry-After", "1")))
    return 1 if error.code in (502, 503, 504) else None


def _refusal(error: urllib.error.HTTPError) -> Failure:
    code = errors.AWAY if error.code >= 500 else CODES.get(error.code, errors.REFUSED)
    try:
        body = json.loads(error.read())
        problems = [(p["path"], p["message"]) for p in body.get("problems", [])]
        return Failure(code, str(body["detail"]), problems)
    except (ValueError, KeyError, TypeError, AttributeError):
        hint = "is this an esweb server?" if error.code in (301, 302, 404) else error.reason
        return Failure(code, f"the server answered {error.code}: {hint}")


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", error)) or type(error).__name__
