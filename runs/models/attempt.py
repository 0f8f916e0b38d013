"""One scheduler job of a run, and what happened to it."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from django.db import models
from django.db.models import Q

from runs.models.experiment import Run
from runs.models.job import OPEN, Cluster, Job, JobQuerySet
from workers.executors.states import State


def key_of(run: Run, n: int) -> str:
    """The key of a run's attempt `n`."""
    return f"esweb-{run.uid}-a{n}"


def checkpoint_folder(directory: Path, step: int) -> Path:
    """Where the trainer keeps what it saves of a step, in its attempt's directory."""
    return directory / "checkpoints" / f"step-{step:06d}"


class Origin(models.TextChoices):
    """What made an attempt. Those by itself are of two kinds, because a preemption takes nothing from the budget."""

    LAUNCH = "launch"
    RESUME = "resume"
    RESTART = "restart"
    PREEMPTION = "preemption"
    IMPORT = "import"


class Hold(models.TextChoices):
    """What an attempt waits for before it goes to its cluster. Empty: nothing holds it."""

    SWEEP = "sweep"
    PERSON = "person"


LAUNCHED = sorted(origin.value for origin in Origin if origin != Origin.IMPORT)


class AttemptQuerySet(JobQuerySet["Attempt"]):
    """Attempts, by what is still to be done about them."""

    def undrained(self) -> Self:
        """Attempts whose files may still hold records that are not in the database."""
        return self.filter(drained_at__isnull=True)

    def held(self) -> Self:
        """Attempts that are kept from their cluster for now."""
        return self.exclude(hold="").filter(state=State.CREATED.value)

    def to_clusters(self) -> Self:
        """Attempts that their clusters have, or are to be given."""
        return self.open().filter(hold="")


class Attempt(Job):
    """One training of a run, from its start or from a checkpoint. Its key is also its address in the API."""

    told = "state"

    n = models.PositiveIntegerField()
    cluster = models.ForeignKey(  # type: ignore[assignment]
        Cluster, on_delete=models.PROTECT, null=True, blank=True, related_name="attempts"
    )
    """None where it was imported: it has run, and ended, where no cluster of this site is."""
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.LAUNCH)
    resumed_attempt = models.PositiveIntegerField(null=True, blank=True)
    resumed_step = models.BigIntegerField(null=True, blank=True)
    """Whose checkpoint it goes on from, by `n`, and of which step; empty where it starts from the beginning."""
    restart_at = models.DateTimeField(null=True, blank=True)
    """When the next attempt is made by itself, by the database's clock; empty where none will be."""
    phase = models.CharField(max_length=40, blank=True)
    phase_message = models.TextField(blank=True)
    drained_at = models.DateTimeField(null=True, blank=True)
    hold = models.CharField(max_length=10, choices=Hold.choices, blank=True)
    """Set while it is CREATED and no cluster shall be asked yet."""
    moves_to = models.ForeignKey(Cluster, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    moves_held = models.BooleanField(default=False)
    """Where the next attempt goes once this one has been cancelled, and whether it is held there."""
    code = models.JSONField(null=True, blank=True)
    """What it is to run, as `workers.code.Code` says it: pinned before it is submitted."""
    environment = models.JSONField(null=True, blank=True)
    """What it ran on, by its own word: the record `Environment` of its newest `epoch`, with that; `packages` is the
    digest of a PackageSet, which attempts share."""

    objects = AttemptQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["run", "n"], name="attempt_n_once_a_run"),
            models.UniqueConstraint(fields=["run"], condition=Q(state__in=OPEN), name="one_open_attempt_a_run"),
            models.CheckConstraint(
                condition=Q(cluster__isnull=False, origin__in=LAUNCHED)
                | Q(cluster__isnull=True, origin=Origin.IMPORT, drained_at__isnull=False) & ~Q(state__in=OPEN),
                name="imported_attempt_has_ended_nowhere",
            ),
        )
        indexes = (
            models.Index(fields=["cluster", "state"]),
            models.Index(fields=["id"], condition=Q(drained_at__isnull=True), name="attempt_undrained"),
            models.Index(fields=["cluster"], condition=~Q(hold=""), name="attempt_held"),
            models.Index(fields=["moves_to"], condition=Q(moves_to__isnull=False), name="attempt_moving"),
            models.Index(fields=["restart_at"], condition=Q(restart_at__isnull=False), name="attempt_to_restart"),
        )

    @property
    def resumed_from(self) -> Path | None:
        """The checkpoint that it goes on from."""
        if self.resumed_attempt is None or self.resumed_step is None:
            return None
        return checkpoint_folder(self.run.root / key_of(self.run, self.resumed_attempt), self.resumed_step)

    @property
    def is_by_itself(self) -> bool:
        """True where no person asked for this attempt."""
        return self.origin in (Origin.RESTART, Origin.PREEMPTION)

    @property
    def speaks_for_run(self) -> bool:
        """True for the newest attempt."""
        return not Attempt.objects.filter(run_id=self.run_id, n__gt=self.n).exists()

    def note(self, why: str, level: str = "info", before: State | str = "", after: State | str = "") -> None:
        """Keeps what happened as an event."""
        AttemptEvent.objects.create(attempt=self, why=why, level=level, from_state=before, to_state=after)


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
