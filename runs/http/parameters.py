"""Parameters of an address. An unknown value of a parameter that selects data gets 404 with the valid choices.

For a parameter that selects only how data looks, such as an axis, the page shows a warning and the default. A file
cannot show a warning: it gets 404 too.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TypeVar

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import BadRequest
from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest
from django.utils.translation import gettext
from django_htmx.middleware import HtmxDetails

from runs.http.choices import must_be_one_of
from runs.metrics import Span

Row = TypeVar("Row", bound=Model)
MAX_DIGITS = 18
"""The number of digits of a whole number in an address or a form: PostgreSQL stores 64 bits, and Python reads no number
of more than 4300 digits."""


class SignedIn(HttpRequest):
    """A request of a signed-in user: the middleware lets no other through."""

    user: User
    htmx: HtmxDetails


class UnknownChoice(Http404):
    """Error for a parameter that selects data that does not exist; the error page names the choices."""


def whole_number(text: str) -> int | None:
    """Return the number that at most MAX_DIGITS digits of ASCII state; None for every other text."""
    is_number = text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS
    return int(text) if is_number else None


def require_choice(request: HttpRequest, name: str, choices: Collection[str], default: str) -> str:
    """Return the parameter's value, or the default if it is missing. Raise UnknownChoice for any other value."""
    value = request.GET.get(name, default)
    if value not in choices and value != default:
        raise UnknownChoice(must_be_one_of(name, choices, value))
    return value


def choice_or_default(request: HttpRequest, name: str, choices: Collection[str], default: str) -> str:
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
    message = gettext("%(name)s must be one of %(choices)s, not %(value)r: showing %(default)s.")
    return message % {"name": name, "choices": ", ".join(choices), "value": value, "default": default}


def warn(request: HttpRequest, message: str) -> None:
    """Show a warning at the top of the page. A fragment of a page cannot show it, and the next page would.

    Raise UnknownChoice for a file.
    """
    if is_file(request):
        raise UnknownChoice(message)
    if "text/html" in request.headers.get("Accept", "text/html"):
        messages.warning(request, message)


def is_file(request: HttpRequest) -> bool:
    """Return whether the address selects a file, which cannot show a warning."""
    return request.GET.get("as") in ("csv", "latex")


def zoom_of(request: HttpRequest) -> Span | None:
    """Return the x range of the zoom, from `from` and `to`; None for all. Raise BadRequest if they are not a valid
    range."""
    bounds = request.GET.get("from"), request.GET.get("to")
    if bounds == (None, None):
        return None
    try:
        low, high = (float(end or "") for end in bounds)
    except ValueError:
        low, high = math.nan, math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise BadRequest("from and to must both be numbers, from below to")
    return low, high


def page_of(request: HttpRequest, rows: QuerySet[Row], per_page: int, name: str = "page") -> Page[Row]:
    """Return the selected page, or the nearest one if it does not exist."""
    return Paginator(rows, per_page).get_page(request.GET.get(name))
