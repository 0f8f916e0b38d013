"""Results of the checks in front of Django for a request: those of the fast path of pushes, and of the limits of
bodies."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from django.db import Error as DatabaseError
from django.http import HttpRequest

SCOPE_KEY = "esweb.middleware.precheck"


@dataclass(frozen=True)
class BodyRefusal:
    """The reason why a request's body was not read: 413 if it has more than `max_bytes`, 415 for its
    Content-Encoding."""

    status: int
    max_bytes: int = 0


@dataclass(frozen=True)
class Precheck:
    """The result of the checks: whether a call is counted already, and whether its token or session is known to be
    invalid.

    `overload_reason` is the reason why the site cannot take the call; it is empty if there is room. `refusal` is the
    reason why the body was not read, and `error` the database's error when the sender of the body was looked up.
    """

    is_counted: bool = False
    overload_reason: str = ""
    is_nobody: bool = False
    refusal: BodyRefusal | None = None
    error: DatabaseError | None = None


def set_precheck(scope: MutableMapping[str, Any], precheck: Precheck) -> None:
    """Store the result in the ASGI scope of a request. Only the server can write there; no client can."""
    scope[SCOPE_KEY] = precheck


def scope_precheck(scope: Mapping[str, Any]) -> Precheck:
    """Return the result that is stored in an ASGI scope; an empty one if the request was not checked."""
    precheck: Precheck = scope.get(SCOPE_KEY, Precheck())
    return precheck


def get_precheck(request: HttpRequest) -> Precheck:
    """Return the result that is stored with a request; an empty one if the request was not checked."""
    return scope_precheck(getattr(request, "scope", {}))
