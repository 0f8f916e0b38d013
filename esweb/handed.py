"""What was done about a request before Django got it: by the quick way for pushes, or by the limits of bodies."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from django.db import Error as DatabaseError
from django.http import HttpRequest

NAME = "esweb.handed"


@dataclass(frozen=True)
class BodyRefusal:
    """Why a request's body was not read: 413 where it has more than `max_bytes`, 415 for its Content-Encoding."""

    status: int
    max_bytes: int = 0


@dataclass(frozen=True)
class Handed:
    """Holds whether the call is counted, of what there was too much for it, whether the token or session that it shows
    is known to be nobody's, and why its body was not read: a refusal, or the error of the database that was to say who
    sends it.
    """

    is_counted: bool = False
    full: str = ""
    is_nobody: bool = False
    refusal: BodyRefusal | None = None
    error: DatabaseError | None = None


def hand(scope: MutableMapping[str, Any], what: Handed) -> None:
    """Note it with the request. Only the server writes there, never who calls."""
    scope[NAME] = what


def handed_in(scope: Mapping[str, Any]) -> Handed:
    """Return what was noted in the ASGI scope; nothing if the request came straight."""
    found: Handed = scope.get(NAME, Handed())
    return found


def handed(request: HttpRequest) -> Handed:
    """Return what was noted with the request; nothing if it came straight."""
    return handed_in(getattr(request, "scope", {}))
