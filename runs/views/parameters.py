"""Reads what an address asks for. What is asked wrongly is said, with the valid choices, and the page still comes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeVar

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

Row = TypeVar("Row", bound=Model)
X_AXES = ("step", "relative", "samples", "tokens")


class SignedIn(HttpRequest):
    """A request of somebody who is signed in: the middleware lets no other through."""

    user: User
    htmx: HtmxDetails


def choice(request: HttpRequest, name: str, choices: Collection[str], default: str) -> str:
    """The parameter, where it is one of the choices; else the default, with a word about it."""
    value = request.GET.get(name, default)
    if value in choices:
        return value
    messages.warning(request, f"{name} must be one of {', '.join(choices)}, not {value!r}: showing {default}.")
    return default


@dataclass(frozen=True)
class Axes:
    """What the charts are drawn along, and whether KL stands on a logarithmic scale."""

    x: str
    log_kl: bool
    choices: tuple[str, ...] = X_AXES


def axes(request: HttpRequest) -> Axes:
    """The axes that the address asks for."""
    return Axes(choice(request, "x", X_AXES, "step"), choice(request, "y", ("linear", "log"), "linear") == "log")


def page_of(request: HttpRequest, rows: QuerySet[Row], per_page: int, name: str = "page") -> Page[Row]:
    """The page that is asked for; the nearest one where there is no such page."""
    return Paginator(rows, per_page).get_page(request.GET.get(name))
