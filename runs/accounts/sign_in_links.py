"""Links that sign a user in once. `up` prints one, so that nobody types a generated password."""

from __future__ import annotations

import secrets

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.core import signing
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

# Without `reverse`, so that `up` need not import the views of all other addresses.
ADDRESS = "sign-in/<str:token>/"
SALT = "esweb.sign-in"
VALID_SECONDS = 3600
BACKEND = "django.contrib.auth.backends.ModelBackend"


def link_for(user: User) -> str:
    """Return a path that signs this user in, once, within the hour. A new password makes it void."""
    token = signing.dumps({"user": user.pk, "nonce": secrets.token_urlsafe(12), "hash": _fingerprint(user)}, salt=SALT)
    return f"/{ADDRESS.replace('<str:token>', token)}"


@never_cache
@login_not_required
@require_safe
def sign_in(request: HttpRequest, token: str) -> HttpResponse:
    """Sign in and redirect to the first page; redirect a used or old link to the sign-in page with a message."""
    user = _redeem(token)
    if user is None:
        message = gettext("This sign-in link was already used or has expired. Sign in with a password.")
        messages.error(request, message)
        return redirect("login")
    login(request, user, backend=BACKEND)
    return redirect("home")


def _redeem(token: str) -> User | None:
    try:
        payload = signing.loads(token, salt=SALT, max_age=VALID_SECONDS)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=payload["user"], is_active=True).first()
    if user is None or not constant_time_compare(payload["hash"], _fingerprint(user)):
        return None
    # `add` is atomic: of two concurrent requests, only one stores the nonce.
    return user if cache.add(f"sign-in:{payload['nonce']}", 1, timeout=VALID_SECONDS) else None


def _fingerprint(user: User) -> str:
    return user.get_session_auth_hash()[:16]
