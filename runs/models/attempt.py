"""One scheduler job of a run, and what happened to it."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from django.db import models
from django.db.models import Q

from runs.models.experiment import Run
from workers.executors.states import OPEN_STATES, State

STATES = [(s.value, s.value) for s in State]
OPEN = sorted(s.value for s in OPEN_STATES)


class Cluster(models.Model):
    """A place where runs run. `config` holds what its executor needs; `local` is this machine."""

    name = models.SlugField(max_length=50, unique=True)
    kind = models.CharField(max_length=20, choices=[("local", "This machine")])
    config = models.JSONField(default=dict, blank=True)
    unreachable_since_at = models.DateTimeField(null=True, blank=True)
    ticked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class AttemptQuerySet(models.QuerySet["Attempt"]):
    """Attempts, by what is still to be done about them."""

    def open(self) -> Self:
        """Attempts that have not ended."""
        return self.filter(state__in=OPEN)

    def undrained(self) -> Self:
        """Attempts whose files may still hold records that are not in the database."""
        return self.filter(drained_at__isnull=True)


class Attempt(models.Model):
    """One job. Its key is its name with the scheduler, its directory's name and its address in the API."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="attempts")
    n = models.PositiveIntegerField()
    key = models.CharField(max_length=60, unique=True)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="attempts")
    state = models.CharField(max_length=20, choices=STATES, default=State.CREATED.value)
    native_id = models.CharField(max_length=100, blank=True)
    native_state = models.CharField(max_length=100, blank=True)
    reason = models.TextField(blank=True)
    submits = models.PositiveIntegerField(default=0)
    submit_started_at = models.DateTimeField(null=True, blank=True)
    gone_since_at = models.DateTimeField(null=True, blank=True)
    final_since_at = models.DateTimeField(null=True, blank=True)
    heartbeat = models.BigIntegerField(default=-1)
    heartbeat_seen_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    phase = models.CharField(max_length=40, blank=True)
    phase_message = models.TextField(blank=True)
    progress = models.FloatField(null=True, blank=True)
    exit_code = models.IntegerField(null=True, blank=True)
    exit_signal = models.IntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    drained_at = models.DateTimeField(null=True, blank=True)

    objects = AttemptQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["run", "n"], name="attempt_n_once_a_run"),
            models.UniqueConstraint(fields=["run"], condition=Q(state__in=OPEN), name="one_open_attempt_a_run"),
        )
        indexes = (
            models.Index(fields=["cluster", "state"]),
            models.Index(fields=["id"], condition=Q(drained_at__isnull=True), name="attempt_undrained"),
        )

    def __str__(self) -> str:
        return self.key

    @property
    def directory(self) -> Path:
        """Where the attempt's files lie."""
        return self.run.root / self.key


class AttemptEvent(models.Model):
    """Something that happened to an attempt: a change of state, an alert from the run. Never changed, never deleted."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(auto_now_add=True)
    level = models.CharField(max_length=10, default="info")
    from_state = models.CharField(max_length=20, blank=True)
    to_state = models.CharField(max_length=20, blank=True)
    why = models.TextField()

    class Meta:
        indexes = (models.Index(fields=["attempt", "at"]),)

    def __str__(self) -> str:
        return self.why
