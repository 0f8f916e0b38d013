"""Tokens for scripts and runs: only their digest is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext_lazy

from runs.models.attempt import Attempt, Origin
from runs.models.experiment import Run

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


@dataclass(frozen=True)
class TokenScope:
    """Calls that a token may make within the rights of its user: those that need one of the permissions."""

    help: str | StrPromise
    permits: tuple[str, ...]
    is_for_viewers: bool = False
    """True if a viewer, who changes nothing, may make the calls that need the permission of this name."""
    needs_run: bool = False
    """True if the token is bound to a run."""


SCOPES = {
    "read": TokenScope(gettext_lazy("read: reads what you may see"), ("read", "find"), is_for_viewers=True),
    "ingest": TokenScope(
        gettext_lazy("ingest: writes the records of one run"), ("ingest",), is_for_viewers=True, needs_run=True),
    "report": TokenScope(
        gettext_lazy("report: creates external runs and writes their records; reads and launches nothing"),
        ("report",)),
    "launch": TokenScope(
        gettext_lazy("launch: read, and launches, changes and cancels"), ("read", "find", "report", "launch")),
    "serve": TokenScope(gettext_lazy("serve: registers services"), ("serve",)),
    "admin": TokenScope(
        gettext_lazy("admin: all that you may do"),
        ("read", "find", "ingest", "report", "launch", "serve", "admin")),
}  # fmt: skip
"""Name of a scope that users can request -> its rights."""
RUN_SCOPE = "run"
"""Scope of tokens that the site creates for the attempts it starts; users cannot request it."""
RUN_PERMISSIONS = ("find", "ingest", "serve")
"""An attempt finds services, writes its records, and registers the scorer that it serves."""


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    """Tokens, selected by their creator."""

    def created_by_users(self) -> Self:
        """Return the tokens that users created for themselves.

        The site creates the others for attempts: of launched runs, and of external runs, whose tokens are named by the
        attempt's key.
        """
        attempts = Attempt.objects.filter(run=OuterRef("run_id"), key=OuterRef("name"), origin=Origin.EXTERNAL)
        return self.exclude(scope=RUN_SCOPE).exclude(Exists(attempts))


class ApiToken(models.Model):
    """A token that a script sends instead of a password. `run` is the run that scopes ingest and run are bound to."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100, blank=True)
    scope = models.CharField(max_length=10, choices=[(s, s) for s in (*SCOPES, RUN_SCOPE)])
    digest = models.CharField(max_length=64, unique=True)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, null=True, blank=True, related_name="tokens")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)

    objects = ApiTokenQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name or f"token {self.pk}"

    @property
    def is_of_attempt(self) -> bool:
        """Return whether the site created it for an attempt that it started."""
        return self.scope == RUN_SCOPE
