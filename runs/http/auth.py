"""Authenticate API calls: a token of sufficient scope, or a signed-in user's browser with its CSRF token. Other calls
get 401."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest
from ninja.errors import HttpError
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from runs import access
from runs.models import ApiToken
from runs.models.token import SCOPES


@dataclass(frozen=True)
class Caller:
    """The user that a request acts for, and the token of the request, None for a browser's session."""

    person: User
    token: ApiToken | None = None


class ApiRequest(HttpRequest):
    """A request that has passed Token or Session."""

    auth: Caller


TOKEN, SCHEME = "_esweb_token", "bearer"
"""Attribute of a request that holds its valid token; the authentication scheme, in any case of its letters."""


def request_token(request: HttpRequest) -> ApiToken | None:
    """Return the valid token of the Authorization header, or None. A request's token is looked up once."""
    if not hasattr(request, TOKEN):
        scheme, _, text = request.headers.get("Authorization", "").partition(" ")
        setattr(request, TOKEN, access.verify(text) if scheme.lower() == SCHEME else None)
    token: ApiToken | None = getattr(request, TOKEN)
    return token


def request_session(request: HttpRequest) -> str:
    """Return the key of the stored session that the browser's cookie names; empty if none is stored under it."""
    if not request.COOKIES.get(settings.SESSION_COOKIE_NAME):
        return ""
    # Loading a session forgets a key under which nothing is stored.
    request.session.get("")
    return request.session.session_key or ""


class Token(HttpBearer):
    """Authentication by `Authorization: Bearer esw_…`; `./manage.py createtoken USER --scope SCOPE` creates a token."""

    def __init__(self, needed: str) -> None:
        super().__init__()
        self.needed = needed

    def __call__(self, request: HttpRequest) -> Caller | None:
        api_token = request_token(request)
        if api_token is None:
            return None
        _check_scope(api_token, self.needed)
        _check_role(api_token.user, self.needed)
        return Caller(api_token.user, api_token)

    def authenticate(self, request: HttpRequest, token: str) -> Caller | None:
        return self(request)


class Session(APIKeyCookie):
    """Authentication of a signed-in browser. Requests that change data must carry the CSRF token, as X-CSRFToken."""

    param_name = "sessionid"

    def __init__(self, needed: str) -> None:
        super().__init__()
        self.needed = needed

    def __call__(self, request: HttpRequest) -> Caller | None:
        # Checked first, so that an anonymous caller gets 401 and not a message about CSRF.
        if isinstance(request.user, AnonymousUser) or not request.user.is_active:
            return None
        if check_csrf(request):
            raise HttpError(403, "The CSRF token is missing or wrong: send the csrftoken cookie's value as X-CSRFToken")
        _check_role(request.user, self.needed)
        return Caller(request.user)

    def authenticate(self, request: HttpRequest, key: str | None) -> Caller | None:
        return self(request)


def needs(scope: str) -> list[Callable[[HttpRequest], Any]]:
    """Return the authenticators of an operation that needs `scope`."""
    return [Token(scope), Session(scope)]


def require_scope(caller: Caller, needed: str) -> None:
    """Raise HttpError if the caller's token does not include this scope, for a call that only sometimes needs it."""
    if caller.token is not None:
        _check_scope(caller.token, needed)


def _check_scope(token: ApiToken, needed: str) -> None:
    """Raise HttpError if the token's scope does not include the needed one."""
    if not access.includes(token.scope, needed):
        scopes = " or ".join(access.GRANTS[needed])
        raise HttpError(403, f"This token has scope {token.scope}; this call needs {scopes}")


def _check_role(person: User, needed: str) -> None:
    """Raise HttpError if a viewer needs more than read access. Records that a run of theirs still writes are
    accepted."""
    if needed in SCOPES and not SCOPES[needed].is_for_viewers and not access.may_make(person):
        raise HttpError(403, "Your role is viewer, which cannot change anything. Ask an admin for the role member")
