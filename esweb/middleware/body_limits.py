"""Limit request bodies: the sender's rights are checked before a byte of a body is read, and each route has a size
limit.

Django's ASGI handler reads every body to its end, and to the disk, before any middleware or view sees the request.
`BodyLimits` runs in front of it. A body that its sender may not send is never read: Django then gets the request
without one, and refuses it in the words of its route. One that is too long, declared or in chunks, is read no further
than the limit, and `BodyRefusals` answers. `docs/decisions/0031` gives the reasons.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from http import HTTPStatus
from io import BytesIO

from channels.db import DatabaseSyncToAsync
from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.handlers.asgi import ASGIRequest
from django.db import Error as DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils.translation import gettext

from esweb.api import api
from esweb.middleware.asgi_types import App, Message, Receive, Scope, Send
from esweb.middleware.outage_errors import server_of
from esweb.middleware.outages import unavailable
from esweb.middleware.precheck import BodyRefusal, get_precheck, scope_precheck, set_precheck
from judging.exchange import MAX_UPLOAD_BYTES as JUDGMENTS_AT_MOST
from judging.judges.gold import MAX_BYTES as GOLD_AT_MOST
from runs.http import get_attempt, problem
from runs.importing import MAX_UPLOAD_BYTES as IMPORTS_AT_MOST
from runs.ingest import MAX_BYTES as RECORDS_AT_MOST
from runs.labels import MAX_UPLOAD_BYTES as LABELS_AT_MOST

API = "/api/v1/"
STRANGER_BYTES = 64 * 1024
"""The longest body of a form that needs no signing in, and of a client who has not signed in."""
UPLOAD_BYTES = {
    "import": IMPORTS_AT_MOST,
    "api:import_files": IMPORTS_AT_MOST,
    "judgments-import": JUDGMENTS_AT_MOST,
    "api:import_judgments": JUDGMENTS_AT_MOST,
    "gold-sets": GOLD_AT_MOST,
    "api:make_gold_set": GOLD_AT_MOST,
    "labels-import": LABELS_AT_MOST,
    "api:import_label_file": LABELS_AT_MOST,
}
"""Route -> the bytes of the files that it takes. The form around them has the limit of any other."""
PUSH = "api:push"
MAX_CONCURRENT_CHECKS = 16
"""Threads that look up senders. Each needs a connection to the database for a moment."""
READS_NO_BODY = {"GET", "HEAD", "OPTIONS", "TRACE"}
BODY_HEADERS = {b"content-length", b"content-type", b"content-encoding", b"transfer-encoding"}
CALLER_HEADERS = {b"authorization"}
IDENTITY = ("", "identity")


@dataclass(frozen=True)
class Allowance:
    """A request's body may have so many bytes, and be compressed or not."""

    max_bytes: int
    takes_gzip: bool = False


class BodyLimits:
    """The ASGI application. `site` is Django's."""

    def __init__(self, site: App) -> None:
        self.site = site
        self._threads = ThreadPoolExecutor(MAX_CONCURRENT_CHECKS, "body-check")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _may_have_body(scope):
            await self.site(scope, receive, send)
            return
        bare = _without_headers(scope, BODY_HEADERS)
        try:
            allowance = await self._allowance(bare)
        except DatabaseError as error:
            # Django must not get the request without the body: the database may be back by then.
            set_precheck(bare, replace(scope_precheck(bare), error=error))
            await self.site(bare, _empty_body(), send)
            return
        if allowance is None:
            # A credential that is known to be invalid need not be looked up again.
            removed = CALLER_HEADERS if scope_precheck(bare).is_nobody else set()
            await self.site(_without_headers(bare, removed), _empty_body(), send)
        elif refusal := _refusal(scope, allowance):
            set_precheck(bare, replace(scope_precheck(bare), refusal=refusal))
            await self.site(bare, _empty_body(), send)
        else:
            await self.site(scope, _limited(scope, receive, allowance.max_bytes), send)

    async def _allowance(self, bare: Scope) -> Allowance | None:
        """Return the allowance. The scope is without the body's headers: the check of a session's CSRF token would look
        for a form. Raise DatabaseError if the database cannot identify the sender."""
        precheck = scope_precheck(bare)
        if bare["method"] in READS_NO_BODY or precheck.overload_reason or precheck.is_nobody:
            return None
        try:
            request = ASGIRequest(bare, BytesIO())
        except UnicodeDecodeError:
            return None
        # In a thread that is given back before the body arrives: Django takes one once the body is whole.
        check = DatabaseSyncToAsync(allowance, thread_sensitive=False, executor=self._threads)
        result: Allowance | None = await check(request)
        return result


class BodyRefusals:
    """The Django middleware that answers for bodies that were not read: 413, 415, or 503 while the database is away."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        refusal, error = get_precheck(request).refusal, get_precheck(request).error
        if error is not None:
            if not (server := server_of(error)):
                raise error
            return unavailable(request, server, error=error, began=False)
        if refusal is None:
            return self.get_response(request)
        if request.path.startswith(API):
            return problem(refusal.status, _api_message(refusal))
        context = {"detail": _page_message(refusal)}
        return TemplateResponse(request, "413.html", context, status=refusal.status).render()


def allowance(request: HttpRequest) -> Allowance | None:
    """Return the allowance for this request's body; None if the sender may send none, so that nothing is read.

    The request comes without its body. The database is queried for the sender's token or session.
    """
    try:
        match = resolve(request.path_info)
    except Resolver404:
        return None
    _identify(request)
    if request.path.startswith(API):
        return _route_allowance(match) if _may_call(request, match) else None
    if not getattr(match.func, "login_required", True) or not request.user.is_authenticated:
        return Allowance(STRANGER_BYTES)
    return _route_allowance(match)


def _may_have_body(scope: Scope) -> bool:
    headers: dict[bytes, bytes] = dict(scope["headers"])
    if b"transfer-encoding" in headers:
        return True
    return headers.get(b"content-length", b"0" if scope["method"] in READS_NO_BODY else b"") != b"0"


def _identify(request: HttpRequest) -> None:
    """Give the request its session and user, both looked up on demand."""
    SessionMiddleware(_never).process_request(request)
    AuthenticationMiddleware(_never).process_request(request)


def _never(_: HttpRequest) -> HttpResponse:
    raise AssertionError("a check of rights answers nothing")


def _may_call(request: HttpRequest, match: ResolverMatch) -> bool:
    """Return whether the operation would admit this caller; for a push, whether the caller may write this attempt."""
    operation = api.operation(match.url_name, str(request.method))
    if operation is None:
        return False
    if (response := operation._run_checks(request)) is not None:
        if response.status_code == HTTPStatus.UNAUTHORIZED:
            set_precheck(request.scope, replace(get_precheck(request), is_nobody=True))  # type: ignore[attr-defined]
        return False
    if match.view_name != PUSH:
        return True
    try:
        return get_attempt(request.auth, match.kwargs["key"]) is not None  # type: ignore[attr-defined]
    except Http404:
        return False


def _route_allowance(match: ResolverMatch) -> Allowance:
    if match.view_name == PUSH:
        return Allowance(RECORDS_AT_MOST, takes_gzip=True)
    return Allowance(UPLOAD_BYTES.get(match.view_name, 0) + settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


def _refusal(scope: Scope, allowed: Allowance) -> BodyRefusal | None:
    headers: dict[bytes, bytes] = dict(scope["headers"])
    if not allowed.takes_gzip and headers.get(b"content-encoding", b"").decode("latin-1").lower() not in IDENTITY:
        return BodyRefusal(415)
    size = headers.get(b"content-length", b"")
    # A number with so many digits exceeds any limit, and takes long to parse.
    is_long = size.isdigit() and (len(size) > 20 or int(size) > allowed.max_bytes)
    return BodyRefusal(413, allowed.max_bytes) if is_long else None


def _limited(scope: Scope, receive: Receive, max_bytes: int) -> Receive:
    """Receive until the limit; a longer body ends there, and is noted to be refused."""
    left = max_bytes

    async def limited() -> Message:
        nonlocal left
        if left < 0:
            return await asyncio.Future()
        message = await receive()
        left -= len(message.get("body", b""))
        if left >= 0:
            return message
        set_precheck(scope, replace(scope_precheck(scope), refusal=BodyRefusal(413, max_bytes)))
        return {"type": "http.request", "body": b"", "more_body": False}

    return limited


def _empty_body() -> Receive:
    """Receive an empty body, and never the client's data: the server drops that after the answer."""
    messages: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else await asyncio.Future()

    return receive


def _without_headers(scope: Scope, headers: Collection[bytes]) -> Scope:
    return {**scope, "headers": [header for header in scope["headers"] if header[0] not in headers]}


def _api_message(refusal: BodyRefusal) -> str:
    if refusal.status == 415:
        return "Content-Encoding must be identity: only pushes of records may use gzip"
    return f"The body is larger than the limit of {refusal.max_bytes} bytes"


def _page_message(refusal: BodyRefusal) -> str:
    if refusal.status == 415:
        return gettext("Forms must not be compressed.")
    params = {"most": refusal.max_bytes}
    if refusal.max_bytes == STRANGER_BYTES:
        return (
            gettext(
                "The request is larger than %(most)s bytes, the limit for this page or for users who are not signed in."
            )
            % params
        )
    return gettext("The request is larger than the limit of %(most)s bytes.") % params
