"""Who may see and do what: tokens for scripts, and the rights that go beyond seeing.

What a person may see is in the QuerySets (`visible_to`). Changing belongs to fewer: whoever owns the experiment, or
made the run. A token acts for its person, within its scope:

    read     sees what the person sees
    ingest   writes the records of the one run that it is bound to, and nothing else
    launch   read, and launches, cancels, resumes and rebuilds
    admin    all that the person may do
"""

from __future__ import annotations

import secrets
from datetime import timedelta
from hashlib import sha256

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from runs.models import ApiToken, Experiment, Run
from runs.models.experiment import Person
from runs.models.token import SCOPES

PREFIX = "esw_"
DAYS = 90
MAX_DAYS = 3650
USED_EVERY = timedelta(minutes=1)
# needed scope -> the scopes that include it
GRANTS = {
    "read": ("read", "launch", "admin"),
    "ingest": ("ingest", "admin"),
    "launch": ("launch", "admin"),
    "admin": ("admin",),
}


class CannotIssue(ValueError):
    """A token that must not be made. The message names the valid choices."""


def issue(user: User, scope: str, *, days: int = DAYS, name: str = "", run: Run | None = None) -> tuple[ApiToken, str]:
    """Makes a token and returns it with its text, which is shown this once: only its digest is kept.

    Raises CannotIssue for an unknown scope, a time out of range, or an ingest token without its run.
    """
    if scope not in SCOPES:
        raise CannotIssue(f"The scope must be one of {', '.join(SCOPES)}, not {scope!r}")
    if not 1 <= days <= MAX_DAYS:
        raise CannotIssue(f"A token lives for 1 to {MAX_DAYS} days, not {days}")
    if (scope == "ingest") != (run is not None):
        raise CannotIssue("An ingest token is bound to one run, and no other is: name the run, or take another scope")
    text = PREFIX + secrets.token_urlsafe(32)
    expires_at = timezone.now() + timedelta(days=days)
    token = ApiToken.objects.create(
        user=user, scope=scope, name=name, run=run, digest=_digest(text), expires_at=expires_at
    )
    return token, text


def verify(text: str) -> ApiToken | None:
    """The token with this text; None where it is unknown or expired, or its person may not sign in."""
    now = timezone.now()
    token = (
        ApiToken.objects.select_related("user", "run")
        .filter(digest=_digest(text), expires_at__gt=now, user__is_active=True)
        .first()
    )
    if token is not None:
        # At most once a minute, so that reading is not writing.
        stale = Q(last_used_at=None) | Q(last_used_at__lt=now - USED_EVERY)
        ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)
    return token


def includes(scope: str, needed: str) -> bool:
    """True where a token of `scope` may do what needs `needed`."""
    return scope in GRANTS[needed]


def may_launch(person: Person, experiment: Experiment) -> bool:
    """True where the person may add runs to an experiment that they can see: its owner, and superusers."""
    return _is_superuser(person) or experiment.owner_id == person.pk


def may_cancel(person: Person, run: Run) -> bool:
    """True where the person may stop a run that they can see: who made it, the experiment's owner, and superusers."""
    return _is_superuser(person) or person.pk in (run.created_by_id, run.experiment.owner_id)


def may_resume(person: Person, run: Run) -> bool:
    """True where the person may let a run go on that they can see: who may stop it."""
    return may_cancel(person, run)


def may_rebuild(person: Person, run: Run) -> bool:
    """True where the person may have a run's checkpoints rebuilt, which takes a core: who may stop it."""
    return may_cancel(person, run)


def _is_superuser(person: Person) -> bool:
    return bool(getattr(person, "is_superuser", False) and getattr(person, "is_active", False))


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
