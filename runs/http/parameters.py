"""Parameters of an address. An unknown value of one that selects data is answered with 404 and the valid choices.

Of one that selects only how data looks, such as an axis, the page says what is wrong and shows the default. A file has
no place for such a notice: it is answered with 404 too.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeVar

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import BadRequest
from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest
from django.utils.translation import gettext
from django_htmx.middleware import HtmxDetails

from runs.charts import Look
from runs.http.choices import must_be_one_of
from runs.metrics import Span
from workers.analysis.bands import AUTO
from workers.analysis.middles import MIDDLES, SPREADS

Row = TypeVar("Row", bound=Model)
X_AXES = ("step", "relative", "samples", "tokens")


class SignedIn(HttpRequest):
    """A request of somebody who is signed in: the middleware lets no other through."""

    user: User
    htmx: HtmxDetails


class UnknownChoice(Http404):
    """A parameter selects data that there is not; the page of the error says which choices there are."""


def selected(request: HttpRequest, name: str, choices: Collection[str], default: str) -> str:
    """Return the parameter's value, or the default if it is missing. Raise UnknownChoice for any other value."""
    value = request.GET.get(name, default)
    if value not in choices and value != default:
        raise UnknownChoice(must_be_one_of(name, choices, value))
    return value


def choice(request: HttpRequest, name: str, choices: Collection[str], default: str) -> str:
    """Return the parameter's value, or the default with a notice if it is none of the choices.

    Raise UnknownChoice for a file.
    """
    value = request.GET.get(name, default)
    if value in choices:
        return value
    if is_file(request):
        raise UnknownChoice(must_be_one_of(name, choices, value))
    warn(request, not_offered(name, choices, value, default))
    return default


def not_offered(name: str, choices: Collection[str], value: str, default: str) -> str:
    """Return the message that a parameter's value is none of the choices, and that the default is shown."""
    said = gettext("%(name)s must be one of %(choices)s, not %(value)r: showing %(default)s.")
    return said % {"name": name, "choices": ", ".join(choices), "value": value, "default": default}


def warn(request: HttpRequest, words: str) -> None:
    """Show a notice at the head of the page. A part of a page has no such place, and the next page would show it.

    Raise UnknownChoice for a file.
    """
    if is_file(request):
        raise UnknownChoice(words)
    if "text/html" in request.headers.get("Accept", "text/html"):
        messages.warning(request, words)


def is_file(request: HttpRequest) -> bool:
    """Return whether the address selects a file, in which no notice can stand."""
    return request.GET.get("as") == "csv"


@dataclass(frozen=True)
class Axes:
    """Hold the x axis of charts, whether KL has a logarithmic scale, and how a group's seeds are summarized.

    center: one of MIDDLES; spread: `auto` or one of SPREADS.
    """

    x: str
    log_kl: bool
    center: str = "mean"
    spread: str = AUTO
    choices: tuple[str, ...] = X_AXES

    @property
    def centers(self) -> list[tuple[str, str]]:
        """The middles to choose from, with their words."""
        return [(name, gettext(words)) for name, words in MIDDLES.items()]

    @property
    def spreads(self) -> list[tuple[str, str]]:
        """The bands to choose from, with their words."""
        usual = gettext("±1 std; min–max where there are fewer than 4 seeds")
        return [(AUTO, usual), *((name, gettext(words)) for name, words in SPREADS.items())]

    @property
    def center_words(self) -> str:
        """Return the name of the bold lines' statistic, as a hint writes it."""
        return dict(self.centers)[self.center]

    @property
    def spread_words(self) -> str:
        """Return the name of the bands' statistic, as a hint writes it."""
        return dict(self.spreads)[self.spread]

    def look(self, px: int | None, zoom: Span | None = None) -> Look:
        """The charts' share of it."""
        return Look(self.x, self.log_kl, self.center, self.spread, px, zoom)


def axes(request: HttpRequest) -> Axes:
    """The axes that the address asks for."""
    return Axes(
        choice(request, "x", X_AXES, "step"),
        choice(request, "y", ("linear", "log"), "linear") == "log",
        selected(request, "center", MIDDLES, "mean"),
        selected(request, "band", (AUTO, *SPREADS), AUTO),
    )


def zoom_of(request: HttpRequest) -> Span | None:
    """The x range that somebody has zoomed to, as `from` and `to`; None for all. Raises BadRequest where it is none."""
    said = request.GET.get("from"), request.GET.get("to")
    if said == (None, None):
        return None
    try:
        low, high = (float(end or "") for end in said)
    except ValueError:
        low, high = math.nan, math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise BadRequest("from and to must both be numbers, from below to")
    return low, high


def page_of(request: HttpRequest, rows: QuerySet[Row], per_page: int, name: str = "page") -> Page[Row]:
    """The page that is asked for; the nearest one where there is no such page."""
    return Paginator(rows, per_page).get_page(request.GET.get(name))
