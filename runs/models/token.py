"""Tokens for scripts and runs: only their digest is stored."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef

from runs.models.attempt import Attempt, Origin
from runs.models.experiment import Run

SCOPES = ("read", "ingest", "report", "launch", "serve", "admin")
RUN_SCOPE = "run"
"""Scope of tokens that the site creates for the attempts it starts; users cannot request it."""


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
