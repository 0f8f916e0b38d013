"""Attempts: scheduler jobs of a run, and their events."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

from django.db import models
from django.db.models import Q

from runs.models.experiment import Run
from runs.models.job import OPEN, Cluster, Job, JobQuerySet
from workers.executors.states import State


def key_of(run: Run, n: int) -> str:
    """Return the key of a run's attempt `n`."""
    return f"esweb-{run.uid}-a{n}"


def checkpoint_folder(directory: Path, step: int) -> Path:
    """Return the folder of a step's checkpoint in its attempt's directory."""
    return directory / "checkpoints" / f"step-{step:06d}"


RESTORED_REASON = "the site was restored from a backup taken before this finished"
"""Reason of jobs that a restore ended: their processes may still run elsewhere."""


class Origin(models.TextChoices):
    """Origin of an attempt. Automatic attempts are of three kinds, because only a restart uses up the budget, and not
    what follows a preemption or the start of a site that was stopped.

    An external attempt is one start of a program elsewhere; its `native_id` is the id that the program gave the start.
    """

    LAUNCH = "launch"
    RESUME = "resume"
    RESTART = "restart"
    PREEMPTION = "preemption"
    SITE_START = "site_start"
    IMPORT = "import"
    EXTERNAL = "external"


class Hold(models.TextChoices):
    """Reason why an attempt is not submitted to its cluster yet. Empty if nothing holds it."""

    SWEEP = "sweep"
    PERSON = "person"


WAITING_STATES = sorted(state.value for state in (State.CREATED, State.SUBMITTING, State.QUEUED))
"""States of attempts that have not begun."""
LAUNCHED = sorted(origin.value for origin in Origin if origin not in (Origin.IMPORT, Origin.EXTERNAL))


class AttemptQuerySet(JobQuerySet["Attempt"]):
    """Attempts, selected by the work that remains."""

    def undrained(self) -> Self:
        """Return attempts whose files may still hold records that are not in the database."""
        return self.filter(drained_at__isnull=True)

    def on_hold(self) -> Self:
        """Return attempts that are held back from their cluster for now."""
        return self.exclude(hold="").filter(state=State.CREATED.value)

    def withdrawn(self) -> Self:
        """Return attempts that must leave their cluster's queue, unless they have begun."""
        return self.filter(moves_to__isnull=False, cancel_requested_at=None, state__in=WAITING_STATES)

    def to_clusters(self) -> Self:
        """Return attempts that were submitted to their clusters, or will be."""
        return self.open().filter(hold="")


class Attempt(Job):
    """One training of a run, from its start or from a checkpoint. Its key is also its address in the API."""

    published_change = "state"
    executes_run = True
    requested_fields = ("cancel_requested_at", "moves_to")
    released = Q(hold="")
    staying = Q(moves_to=None)

    n = models.PositiveIntegerField()
    cluster = models.ForeignKey(  # type: ignore[assignment]
        Cluster, on_delete=models.PROTECT, null=True, blank=True, related_name="attempts"
    )
    """None if it was imported or is reported from elsewhere: it runs outside this site's clusters."""
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.LAUNCH)
    resumed_attempt = models.PositiveIntegerField(null=True, blank=True)
    resumed_step = models.BigIntegerField(null=True, blank=True)
    """Attempt (by `n`) and step of the checkpoint that it resumes from; None if it starts from the beginning."""
    restart_at = models.DateTimeField(null=True, blank=True)
    """Time, by the database's clock, at which the next attempt is created automatically; None if none will be."""
    phase = models.CharField(max_length=40, blank=True)
    phase_message = models.TextField(blank=True)
    drained_at = models.DateTimeField(null=True, blank=True)
    hold = models.CharField(max_length=10, choices=Hold.choices, blank=True)
    """Set while it is CREATED and must not be submitted yet."""
    moves_to = models.ForeignKey(Cluster, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    moves_held = models.BooleanField(default=False)
    """Cluster of the next attempt after this one has been cancelled, and whether that attempt is held. Without a
    request to cancel it, the attempt only leaves its cluster's queue, and continues if it has begun."""
    code = models.JSONField(null=True, blank=True)
    """Code to run, as `workers.code.Code` in JSON, pinned before it is submitted."""
    environment = models.JSONField(null=True, blank=True)
    """Reported environment: the record `Environment` of its newest `epoch`, with the epoch; `packages` is the digest of
    a PackageSet, which attempts share."""

    objects = AttemptQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["run", "n"], name="attempt_n_once_a_run"),
            models.UniqueConstraint(fields=["run"], condition=Q(state__in=OPEN), name="one_open_attempt_a_run"),
            models.UniqueConstraint(
                fields=["run", "native_id"],
                condition=Q(origin=Origin.EXTERNAL) & ~Q(native_id=""),
                name="external_start_once_a_run",
            ),
            models.CheckConstraint(
                condition=Q(cluster__isnull=False, origin__in=LAUNCHED)
                | Q(cluster__isnull=True, origin=Origin.IMPORT, drained_at__isnull=False) & ~Q(state__in=OPEN)
                | Q(cluster__isnull=True, origin=Origin.EXTERNAL, drained_at__isnull=False),
                name="only_attempts_elsewhere_have_no_cluster",
            ),
        )
        indexes = (
            models.Index(fields=["cluster", "state"]),
            models.Index(fields=["id"], condition=Q(drained_at__isnull=True), name="attempt_undrained"),
            models.Index(fields=["cluster"], condition=~Q(hold=""), name="attempt_held"),
            models.Index(fields=["moves_to"], condition=Q(moves_to__isnull=False), name="attempt_moving"),
            models.Index(fields=["restart_at"], condition=Q(restart_at__isnull=False), name="attempt_to_restart"),
        )

    def command(self) -> tuple[str, ...]:
        """Return the trainer, which checks the pinned code and resumes from the attempt's checkpoint."""
        arguments = ["run.json", "--out", "."]
        if self.code_sha256 and self.cluster is not None:
            refuses = self.cluster.config.get("other_code") == "refuse"
            arguments += ["--code", self.code_sha256, *(["--other-code", "refuse"] if refuses else [])]
        if self.resumed_from is not None:
            # The path is relative to the job's directory: the folder of all runs may have another path on the cluster.
            arguments += ["--resume", os.path.relpath(self.resumed_from, self.directory)]
        return ("workers.train", *arguments)

    @property
    def code_sha256(self) -> str:
        return str(self.code["sha256"]) if self.code else ""

    @property
    def goes_first(self) -> bool:
        return self.origin == Origin.SITE_START

    @property
    def is_moving(self) -> bool:
        return self.moves_to_id is not None

    @property
    def resumed_from(self) -> Path | None:
        """Return the checkpoint that it resumes from, None if it starts from the beginning."""
        if self.resumed_attempt is None or self.resumed_step is None:
            return None
        return checkpoint_folder(self.run.root / key_of(self.run, self.resumed_attempt), self.resumed_step)

    @property
    def is_withdrawn(self) -> bool:
        """Return whether the attempt must leave its cluster's queue, unless it has begun: its sweep was paused."""
        return self.is_moving and self.cancel_requested_at is None

    @property
    def is_automatic(self) -> bool:
        """Return whether this attempt was created without a user's request."""
        return self.origin in (Origin.RESTART, Origin.PREEMPTION, Origin.SITE_START)

    @property
    def sets_run_state(self) -> bool:
        """Return whether this is the run's newest attempt."""
        return not Attempt.objects.filter(run_id=self.run_id, n__gt=self.n).exists()

    def note(self, why: str, level: str = "info", before: State | str = "", after: State | str = "") -> None:
        """Store an event of this attempt."""
        AttemptEvent.objects.create(attempt=self, why=why, level=level, from_state=before, to_state=after)


class AttemptEvent(models.Model):
    """An event of an attempt: a change of state, an alert from the run. Never changed, never deleted."""

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
