"""Tokens for scripts: create, verify and revoke them. A token acts for its user, within its scope."""

from __future__ import annotations

import secrets
from datetime import timedelta
from hashlib import sha256

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from runs.access.rights import may_change_run, note
from runs.models import ApiToken, Run
from runs.models.token import RUN_PERMISSIONS, RUN_SCOPE, SCOPES

PREFIX = "esw_"
DAYS = 90
MAX_DAYS = 3650
RUN_TOKEN_DAYS = 365
USED_EVERY = timedelta(minutes=1)
PERMITTED = {name: scope.permits for name, scope in SCOPES.items()} | {RUN_SCOPE: RUN_PERMISSIONS}
GRANTS = {
    needed: tuple(name for name, permits in PERMITTED.items() if needed in permits)
    for needed in SCOPES["admin"].permits
}
"""Permission that a call needs -> the scopes that include it."""


class CannotIssue(ValueError):
    """Error for a token that must not be created. The message names the valid choices."""


def issue(user: User, scope: str, *, days: int = DAYS, name: str = "", run: Run | None = None) -> tuple[ApiToken, str]:
    """Create a token and return it with its text, which is not stored: the database holds only its digest.

    Raise CannotIssue if the scope is unknown, if `days` is out of range, if an ingest token has no run or another
    token has one, or if the user may not change the run.
    """
    if scope not in SCOPES:
        message = gettext("The scope must be one of %(scopes)s, not %(scope)r")
        raise CannotIssue(message % {"scopes": ", ".join(SCOPES), "scope": scope})
    if not 1 <= days <= MAX_DAYS:
        raise CannotIssue(
            gettext("The lifetime of a token must be 1 to %(most)s days, not %(days)s")
            % {"most": MAX_DAYS, "days": days}
        )
    if SCOPES[scope].needs_run != (run is not None):
        raise CannotIssue(gettext("A token of scope ingest needs a run, and tokens of other scopes must name none"))
    if run is not None and not may_change_run(user, run):
        message = gettext(
            "Run %(uid)s does not belong to %(name)s; only the user who launched it, the owner of its experiment and "
            "admins may write its records"
        )
        raise CannotIssue(message % {"uid": run.uid, "name": user.get_username()})
    text = PREFIX + secrets.token_urlsafe(32)
    expires_at = timezone.now() + timedelta(days=days)
    token = ApiToken.objects.create(
        user=user, scope=scope, name=name, run=run, digest=digest(text), expires_at=expires_at
    )
    note(user, token, f"Created a token of scope {scope}, valid for {days} days")
    return token, text


def issue_run_token(run: Run, key: str) -> str:
    """Return a new token for one attempt of a run, in place of any earlier token of the attempt. It acts for the run's
    creator, within scope run."""
    text = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        end_run_tokens(run, key)
        ApiToken.objects.create(
            user=run.created_by,
            scope=RUN_SCOPE,
            name=key,
            run=run,
            digest=digest(text),
            expires_at=timezone.now() + timedelta(days=RUN_TOKEN_DAYS),
        )
    return text


def end_run_tokens(run: Run, key: str) -> None:
    """Delete the tokens of one attempt."""
    ApiToken.objects.filter(run=run, scope=RUN_SCOPE, name=key).delete()


def revoke(token: ApiToken) -> None:
    """Revoke a token immediately."""
    note(token.user, token, f"Revoked a token of scope {token.scope}")
    token.delete()


def verify(text: str) -> ApiToken | None:
    """Return the token with this text; None if it is unknown or expired, or if its user may not sign in."""
    now = timezone.now()
    valid_tokens = ApiToken.objects.select_related("user").filter(expires_at__gt=now, user__is_active=True)
    token = valid_tokens.filter(digest=digest(text)).first()
    if token is not None and (token.last_used_at is None or token.last_used_at < now - USED_EVERY):
        # At most once a minute, so that a read does not write each time.
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


def includes(scope: str, needed: str) -> bool:
    """Return whether a token of `scope` permits what needs the scope `needed`."""
    return scope in GRANTS[needed]


def digest(text: str) -> str:
    """Return the SHA-256 of a token's text in hexadecimal: the only form that is stored."""
    return sha256(text.encode()).hexdigest()
