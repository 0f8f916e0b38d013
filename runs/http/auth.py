"""Who calls: a token of sufficient scope, or a signed-in person's browser with its CSRF token. Others get 401."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from ninja.errors import AuthenticationError, HttpError
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from runs import access
from runs.http.problems import refused
from runs.models import ApiToken


@dataclass(frozen=True)
class Caller:
    """The person a request acts for, and the token that it showed, None for a browser's session."""

    person: User
    token: ApiToken | None = None


class ApiRequest(HttpRequest):
    """A request that has passed one of the two below."""

    auth: Caller


class Token(HttpBearer):
    """`Authorization: Bearer esw_…`, made by `./manage.py createtoken USER --scope SCOPE`."""

    def __init__(self, needed: str) -> None:
        super().__init__()
        self.needed = needed

    def authenticate(self, request: HttpRequest, token: str) -> Caller | None:
        found = access.verify(token)
        if found is None:
            return None
        if not access.includes(found.scope, self.needed):
            enough = " or ".join(access.GRANTS[self.needed])
            raise HttpError(403, f"This token has scope {found.scope}; this needs {enough}")
        _check_role(found.user, self.needed)
        return Caller(found.user, found)


class Session(APIKeyCookie):
    """A signed-in browser. Requests that change something must carry the CSRF token, as X-CSRFToken."""

    param_name = "sessionid"

    def __init__(self, needed: str) -> None:
        super().__init__()
        self.needed = needed

    def __call__(self, request: HttpRequest) -> Caller | None:
        # Asked first, so that a stranger hears 401 and not about CSRF.
        if isinstance(request.user, AnonymousUser) or not request.user.is_active:
            return None
        if check_csrf(request):
            raise HttpError(403, "The CSRF token is missing or wrong: send the csrftoken cookie's value as X-CSRFToken")
        _check_role(request.user, self.needed)
        return Caller(request.user)

    def authenticate(self, request: HttpRequest, key: str | None) -> Caller | None:
        return self(request)


def needs(scope: str) -> list[Callable[[HttpRequest], Any]]:
    """The ways to be let in to what needs `scope`."""
    return [Token(scope), Session(scope)]


def closed(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Lets in to a plain view who may read, and only to read; others hear 401, or 403 in the words of what refused."""
    read = require_safe(view)

    @wraps(view, updated=())
    def inner(request: HttpRequest, *args: Any, **more: Any) -> HttpResponse:
        try:
            if any(way(request) for way in needs("read")):
                return read(request, *args, **more)
        except HttpError as error:
            return refused(request, error)
        return refused(request, AuthenticationError())

    return inner


def _check_role(person: User, needed: str) -> None:
    """Raises HttpError where a viewer asks for more than to read. What a run of theirs still writes is taken."""
    if needed in ("launch", "serve", "admin") and not access.may_make(person):
        raise HttpError(403, "Your role is viewer, which reads and changes nothing: ask an admin for the role member")
