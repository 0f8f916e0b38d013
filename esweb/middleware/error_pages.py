"""Pages of errors. They release the database connection with which they show the signed-in user.

Django's ASGI handler renders them in a thread that is no request's, so the end of the request does not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import connections
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views import defaults

from esweb.middleware.outage_errors import server_of
from esweb.middleware.outages import unavailable
from runs.http import UnknownChoice

View = Callable[..., HttpResponse]


def _releasing_connections(view: View) -> View:
    @wraps(view)
    def inner(*args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(*args, **kwargs)
        finally:
            for connection in connections.all(initialized_only=True):
                if not connection.in_atomic_block:
                    connection.close_if_unusable_or_obsolete()

    return inner


bad_request = _releasing_connections(defaults.bad_request)
permission_denied = _releasing_connections(defaults.permission_denied)


@_releasing_connections
def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer 404. If the address selects data that does not exist, the page lists the valid choices."""
    reason = str(exception) if isinstance(exception, UnknownChoice) else ""
    return TemplateResponse(request, "404.html", {"reason": reason}, status=404).render()


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 503 if PostgreSQL or Valkey is what failed, else 500. Django calls this while it handles the exception."""
    error = sys.exception()
    if server := server_of(error):
        return unavailable(request, server, error=error, began=True)
    return _releasing_connections(defaults.server_error)(request)
