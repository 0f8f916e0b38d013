"""`Idempotency-Key`: whoever does not know whether a call arrived sends it again, and what it makes is made once.

An answer is kept for a day under its key, for the person who asked. The same key with the same request is answered the
same; with another request it is refused with 422; two that come at once wait for each other. Only what succeeded is
kept: a call that was refused made nothing, and is judged anew.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial, wraps
from hashlib import sha256
from typing import Any, TypeVar

from django.db import transaction
from django.http import HttpResponse
from django.utils import timezone
from ninja.errors import HttpError
from ninja.operation import Operation
from ninja.responses import Response
from ninja.utils import contribute_operation_callback

from runs.http.auth import ApiRequest
from runs.http.problems import Invalid
from runs.models import KeptAnswer
from workers.config import Problem

HEADER = "Idempotency-Key"
KEPT_FOR = timedelta(hours=24)
LENGTH = 200
SWEPT_AT_ONCE = 100
JSON = "application/json; charset=utf-8"
PARAMETER = {
    "in": "header",
    "name": HEADER,
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": LENGTH, "pattern": "^[!-~]+$"},
    "description": "Any text of yours, such as a UUID: for 24 h the same key and request are answered the same, "
    "and nothing is made twice.",
}
View = TypeVar("View", bound=Callable[..., Any])


def once(view: View) -> View:
    """Below the route of an operation that makes something: it heeds Idempotency-Key."""
    contribute_operation_callback(view, partial(_heed, keeps=True))
    return view


def once_secretly(view: View) -> View:
    """As `once`, for an answer that holds a secret: it is not kept, so that a repetition is told 409 instead."""
    contribute_operation_callback(view, partial(_heed, keeps=False))
    return view


def _heed(operation: Operation, *, keeps: bool) -> None:
    operation.view_func = _heeding(operation.view_func, keeps=keeps)
    extra = operation.openapi_extra or {}
    operation.openapi_extra = extra | {"parameters": [*extra.get("parameters", []), PARAMETER]}


def _heeding(view: Callable[..., Any], *, keeps: bool) -> Callable[..., Any]:
    @wraps(view)
    def inner(request: ApiRequest, **given: Any) -> Any:
        key = request.headers.get(HEADER)
        if key is None:
            return view(request, **given)
        _check(key)
        with transaction.atomic():
            kept, is_new = _kept(request, key)
            return _answered(kept, view(request, **given), keeps=keeps) if is_new else _again(request, kept)

    return inner


def _check(key: str) -> None:
    if not 1 <= len(key) <= LENGTH or not all("!" <= letter <= "~" for letter in key):
        raise Invalid(Problem(HEADER, f"must be 1 to {LENGTH} visible ASCII characters, such as a UUID"))


def _kept(request: ApiRequest, key: str) -> tuple[KeptAnswer, bool]:
    """The row of this key, and whether it is ours. Where another call is at work on it, its end is waited for."""
    person = request.auth.person
    old = KeptAnswer.objects.filter(person=person, made_at__lt=timezone.now() - KEPT_FOR)
    # Skipping what others sweep, so that two calls never wait for each other's rubbish.
    KeptAnswer.objects.filter(
        pk__in=list(old.select_for_update(skip_locked=True).values_list("pk", flat=True)[:SWEPT_AT_ONCE])
    ).delete()
    return KeptAnswer.objects.get_or_create(person=person, key=key, defaults={"request": _digest(request)})


def _answered(kept: KeptAnswer, result: Any, *, keeps: bool) -> HttpResponse:
    status, shown = result if isinstance(result, tuple) else (200, result)
    answer = Response(shown.model_dump(), status=status, content_type=JSON)
    kept.status = status
    kept.body = answer.content.decode() if keeps else ""
    kept.save(update_fields=["status", "body"])
    return answer


def _again(request: ApiRequest, kept: KeptAnswer) -> HttpResponse:
    if kept.request != _digest(request):
        raise Invalid(Problem(HEADER, "was used for another request within 24 h: a new request takes a new key"))
    if not kept.body:
        raise HttpError(409, "This was made already, and what it showed is shown once: revoke it and make another")
    answer = HttpResponse(kept.body, status=kept.status, content_type=JSON)
    answer["Idempotency-Replayed"] = "true"
    return answer


def _digest(request: ApiRequest) -> str:
    return sha256(
        b"\n".join([str(request.method).encode(), request.get_full_path().encode(), request.body])
    ).hexdigest()
