"""What was done already about a request that the quick way for pushes hands over to Django."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

NAME = "esweb.handed"


@dataclass(frozen=True)
class Handed:
    """Whether the call is counted, and of what there was too much for it."""

    is_counted: bool = False
    full: str = ""


def hand(scope: MutableMapping[str, Any], what: Handed) -> None:
    """Notes it with the request. Only the server writes there, never who calls."""
    scope[NAME] = what


def handed(request: HttpRequest) -> Handed:
    """What was noted with the request; nothing where it came straight."""
    found: Handed = getattr(request, "scope", {}).get(NAME, Handed())
    return found
