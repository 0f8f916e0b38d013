"""`Idempotency-Key`: a caller that does not know whether a call arrived repeats it, and the object is created once.

A response is stored for a day under its key, for the user who called. The same key with the same request gets the same
response; with another request it is refused with 422; two concurrent calls wait for each other. Only a successful
response is stored: a refused call created nothing, and is checked again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
RETENTION = timedelta(hours=24)
MAX_KEY_LENGTH = 200
SWEEP_BATCH_SIZE = 100
JSON = "application/json; charset=utf-8"
PARAMETER = {
    "in": "header",
    "name": HEADER,
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH, "pattern": "^[!-~]+$"},
    "description": (
        "Any text, such as a UUID. For 24 hours, the same key with the same request gets the same response, and "
        "nothing is created twice."
    ),
}
View = TypeVar("View", bound=Callable[..., Any])


def idempotent(view: View) -> View:
    """Make an operation that creates something accept Idempotency-Key. Put this below its route."""
    contribute_operation_callback(view, partial(_add_header_support, stores_body=True))
    return view


def idempotent_secret(view: View) -> View:
    """Do as `idempotent`, for a response that holds a secret: the response is not stored, so a repetition gets 409
    instead."""
    contribute_operation_callback(view, partial(_add_header_support, stores_body=False))
    return view


def idempotent_unless(is_exempt: Callable[[Mapping[str, Any]], bool]) -> Callable[[View], View]:
    """Do as `idempotent`, except for calls with arguments of which `is_exempt` is true: they are safe to repeat by
    themselves, and nothing of their responses is stored."""

    def decorate(view: View) -> View:
        contribute_operation_callback(view, partial(_add_header_support, stores_body=True, is_exempt=is_exempt))
        return view

    return decorate


def idempotency_key(request: ApiRequest) -> str:
    """Return the call's Idempotency-Key, or an empty text. Raise Invalid if it is no valid key."""
    key = request.headers.get(HEADER)
    if key is None:
        return ""
    _check(key)
    return key


def _never(_: Mapping[str, Any]) -> bool:
    return False


def _add_header_support(
    operation: Operation, *, stores_body: bool, is_exempt: Callable[[Mapping[str, Any]], bool] = _never
) -> None:
    operation.view_func = _wrap_view(operation.view_func, stores_body=stores_body, is_exempt=is_exempt)
    extra = operation.openapi_extra or {}
    operation.openapi_extra = extra | {"parameters": [*extra.get("parameters", []), PARAMETER]}


def _wrap_view(
    view: Callable[..., Any], *, stores_body: bool, is_exempt: Callable[[Mapping[str, Any]], bool]
) -> Callable[..., Any]:
    @wraps(view)
    def inner(request: ApiRequest, **kwargs: Any) -> Any:
        key = idempotency_key(request)
        if not key or is_exempt(kwargs):
            return view(request, **kwargs)
        with transaction.atomic():
            row, is_new = _get_or_create_row(request, key)
            return (
                _store_response(row, view(request, **kwargs), stores_body=stores_body)
                if is_new
                else _replay(request, row)
            )

    return inner


def _check(key: str) -> None:
    if not 1 <= len(key) <= MAX_KEY_LENGTH or not all("!" <= letter <= "~" for letter in key):
        raise Invalid(Problem(HEADER, f"must be 1 to {MAX_KEY_LENGTH} visible ASCII characters, such as a UUID"))


def _get_or_create_row(request: ApiRequest, key: str) -> tuple[KeptAnswer, bool]:
    """Return the row of this key, and whether this call created it. If another call is processing it, wait for that
    call to finish."""
    person = request.auth.person
    old = KeptAnswer.objects.filter(person=person, made_at__lt=timezone.now() - RETENTION)
    # Skip rows that another call is deleting, so that two calls never wait for each other's expired rows.
    KeptAnswer.objects.filter(
        pk__in=list(old.select_for_update(skip_locked=True).values_list("pk", flat=True)[:SWEEP_BATCH_SIZE])
    ).delete()
    return KeptAnswer.objects.get_or_create(person=person, key=key, defaults={"request": _digest(request)})


def _store_response(row: KeptAnswer, result: Any, *, stores_body: bool) -> HttpResponse:
    status, body = result if isinstance(result, tuple) else (200, result)
    response = Response(body.model_dump(), status=status, content_type=JSON)
    row.status = status
    row.body = response.content.decode() if stores_body else ""
    row.save(update_fields=["status", "body"])
    return response


def _replay(request: ApiRequest, row: KeptAnswer) -> HttpResponse:
    if row.request != _digest(request):
        raise Invalid(Problem(HEADER, "was used for another request within 24 h; use a new key for a new request"))
    if not row.body:
        raise HttpError(
            409, "This was already created, and its secret is shown only once. Revoke it and create another"
        )
    response = HttpResponse(row.body, status=row.status, content_type=JSON)
    response["Idempotency-Replayed"] = "true"
    return response


def _digest(request: ApiRequest) -> str:
    return sha256(
        b"\n".join([str(request.method).encode(), request.get_full_path().encode(), request.body])
    ).hexdigest()
