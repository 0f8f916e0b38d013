"""The pages of errors. They give back the connection that they take to the database to show who has signed in.

Django's ASGI handler renders them in a thread that is no request's, so the end of the request does not.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import connections
from django.http import HttpResponse
from django.views import defaults

View = Callable[..., HttpResponse]


def _gives_back(view: View) -> View:
    @wraps(view)
    def inner(*args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(*args, **kwargs)
        finally:
            for connection in connections.all(initialized_only=True):
                if not connection.in_atomic_block:
                    connection.close_if_unusable_or_obsolete()

    return inner


bad_request = _gives_back(defaults.bad_request)
permission_denied = _gives_back(defaults.permission_denied)
page_not_found = _gives_back(defaults.page_not_found)
server_error = _gives_back(defaults.server_error)
