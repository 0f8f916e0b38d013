"""ETags: versions of responses, so that reading again is cheap and a change applies only to the version that was read.

`If-None-Match` on a read gets 304 if nothing has changed; `If-Match` on a change gets 412 if something has. A version
is the digest of the JSON that a read returns.
"""

from __future__ import annotations

from hashlib import sha256

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.http import parse_etags
from ninja import Schema
from ninja.errors import HttpError
from ninja.responses import Response

IF_MATCH = {
    "in": "header",
    "name": "If-Match",
    "required": False,
    "schema": {"type": "string"},
    "description": "The ETag that you read. If it is no longer the newest, nothing is changed: 412.",
}
CHANGES = {"parameters": [IF_MATCH]}


def add_etag(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    """Return the response to a read with its ETag; 304 without a body if the caller has it already."""
    response.headers.setdefault("Cache-Control", "private, no-cache")
    patch_vary_headers(response, ("Authorization", "Cookie"))
    if request.method not in ("GET", "HEAD") or response.status_code != 200 or not isinstance(response, HttpResponse):
        return response
    response["ETag"] = etag = _tag(response.content)
    if not _matches(request.headers.get("If-None-Match", ""), etag):
        return response
    unchanged = HttpResponseNotModified()
    for header in ("ETag", "Cache-Control", "Vary"):
        unchanged[header] = response[header]
    return unchanged


def check_version(request: HttpRequest, current: Schema) -> None:
    """Raise HttpError 412 if If-Match names another version than the current. Call this with the row locked, before it
    changes."""
    if_match = request.headers.get("If-Match")
    if if_match is not None and not _matches(if_match, _tag(Response(current.model_dump()).content)):
        raise HttpError(
            412, "The object has changed since you read it. Read it again and send the new ETag as If-Match"
        )


def _tag(content: bytes) -> str:
    return f'"{sha256(content).hexdigest()[:32]}"'


def _matches(header: str, etag: str) -> bool:
    """Return whether the header names this version. A W/ before it only means that it was sent compressed."""
    return "*" in (tags := parse_etags(header)) or etag in (tag.removeprefix("W/") for tag in tags)
