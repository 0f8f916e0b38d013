"""Tokens for scripts. A token acts for its user, within its scope:

read     reads what the user can see
ingest   writes the records of the one run that it is bound to, and nothing else
report   creates external runs and gets a token of scope ingest for each; reads and launches nothing
launch   reads, and launches, cancels, resumes and rebuilds
serve    registers services of the user, and nothing else
admin    does everything that the user may do
run      serves one run that the site started: writes its records, finds services, registers the scorer it serves
"""

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
from runs.models.token import RUN_SCOPE, SCOPES

PREFIX = "esw_"
DAYS = 90
MAX_DAYS = 3650
RUN_TOKEN_DAYS = 365
USED_EVERY = timedelta(minutes=1)
# needed scope -> the scopes that include it
GRANTS = {
    "read": ("read", "launch", "admin"),
    "find": ("read", "launch", "admin", RUN_SCOPE),
    "ingest": ("ingest", "admin", RUN_SCOPE),
    "report": ("report", "launch", "admin"),
    "launch": ("launch", "admin"),
    "serve": ("serve", "admin", RUN_SCOPE),
    "admin": ("admin",),
}


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
    if (scope == "ingest") != (run is not None):
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
