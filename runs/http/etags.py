"""ETags: an answer's version, so that reading again costs nothing and changing changes what was read.

`If-None-Match` on a read is answered 304 where nothing has changed; `If-Match` on a change is answered 412 where
something has. A version is the digest of the JSON that a read answers.
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
    "description": "The ETag that you read. Where it is no longer the newest, nothing is changed: 412.",
}
CHANGES = {"parameters": [IF_MATCH]}


def tagged(request: HttpRequest, answer: HttpResponseBase) -> HttpResponseBase:
    """The answer to a read with its ETag; 304 without a body where the caller has it already."""
    answer.headers.setdefault("Cache-Control", "private, no-cache")
    patch_vary_headers(answer, ("Authorization", "Cookie"))
    if request.method not in ("GET", "HEAD") or answer.status_code != 200 or not isinstance(answer, HttpResponse):
        return answer
    answer["ETag"] = etag = _tag(answer.content)
    if not _names(request.headers.get("If-None-Match", ""), etag):
        return answer
    unchanged = HttpResponseNotModified()
    for header in ("ETag", "Cache-Control", "Vary"):
        unchanged[header] = answer[header]
    return unchanged


def check_version(request: HttpRequest, now: Schema) -> None:
    """To be called with the row locked, before it is changed. Raises HttpError 412 where If-Match names another."""
    asked = request.headers.get("If-Match")
    if asked is not None and not _names(asked, _tag(Response(now.model_dump()).content)):
        raise HttpError(412, "It has changed since you read it: read it again, and send the new ETag as If-Match")


def _tag(content: bytes) -> str:
    return f'"{sha256(content).hexdigest()[:32]}"'


def _names(header: str, etag: str) -> bool:
    """True where the header names this version. A W/ before it only says that it was sent compressed."""
    return "*" in (tags := parse_etags(header)) or etag in (tag.removeprefix("W/") for tag in tags)
