"""What a cluster is asked to do, and what is known about it: the part that attempts and rebuilds have in common."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Self, TypeVar

from django.db import models
from django.utils import timezone

from runs.models.experiment import Run
from workers.executors.states import OPEN_STATES, State

STATES = [(s.value, s.value) for s in State]
OPEN = sorted(s.value for s in OPEN_STATES)
JobT = TypeVar("JobT", bound="Job")


class Cluster(models.Model):
    """A place where runs run. `config` holds what its executor needs; `local` is this machine.

    `answered_at` is when it last replied, under its present config; None until it has. `unreachable_since_at` is set
    from the first question that it left open until it replies. `ticked_at` is when its jobs were last looked after,
    which needs no reply if there are none.
    """

    KINDS: ClassVar = [("local", "This machine"), ("slurm", "Slurm"), ("ray", "Ray")]

    name = models.SlugField(max_length=50, unique=True)
    kind = models.CharField(max_length=20, choices=KINDS)
    config = models.JSONField(default=dict, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    unreachable_since_at = models.DateTimeField(null=True, blank=True)
    ticked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name

    @property
    def is_far(self) -> bool:
        """True where this machine does not see its disk: what is there is brought here, over SSH."""
        return bool(self.config.get("address"))

    def note_answer(self) -> None:
        """Store that the cluster replied now, unless its config was changed since this object was read."""
        same = Cluster.objects.filter(pk=self.pk, config=self.config)
        same.update(answered_at=timezone.now(), unreachable_since_at=None)

    def note_silence(self) -> None:
        """Store that the cluster does not reply, unless its config was changed since this object was read."""
        same = Cluster.objects.filter(pk=self.pk, config=self.config)
        same.filter(unreachable_since_at=None).update(unreachable_since_at=timezone.now())


class JobQuerySet(models.QuerySet[JobT]):
    """Jobs, by what is still to be done about them."""

    def open(self) -> Self:
        """Jobs that have not ended."""
        return self.filter(state__in=OPEN)


class Job(models.Model):
    """Its key is its name with the scheduler and its directory's name."""

    told: ClassVar[str]
    """What an open page asks for again when the job has changed."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="%(class)ss")
    key = models.CharField(max_length=60, unique=True)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="%(class)ss")
    state = models.CharField(max_length=20, choices=STATES, default=State.CREATED.value)
    native_id = models.CharField(max_length=100, blank=True)
    native_state = models.CharField(max_length=100, blank=True)
    reason = models.TextField(blank=True)
    submits = models.PositiveIntegerField(default=0)
    submit_started_at = models.DateTimeField(null=True, blank=True)
    gone_since_at = models.DateTimeField(null=True, blank=True)
    final_since_at = models.DateTimeField(null=True, blank=True)
    stuck_since_at = models.DateTimeField(null=True, blank=True)
    """Since when it waits for what its cluster says will never be."""
    heartbeat = models.BigIntegerField(default=-1)
    heartbeat_seen_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    progress = models.FloatField(null=True, blank=True)
    exit_code = models.IntegerField(null=True, blank=True)
    exit_signal = models.IntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.key

    @property
    def is_open(self) -> bool:
        """True while it has not ended."""
        return State(self.state) in OPEN_STATES

    @property
    def seconds(self) -> float | None:
        """How long it has run; None before it has started."""
        if self.started_at is None:
            return None
        return ((self.ended_at or timezone.now()) - self.started_at).total_seconds()

    @property
    def directory(self) -> Path:
        """Where the job's files lie."""
        return self.run.root / self.key

    @property
    def speaks_for_run(self) -> bool:
        """True where the run is in the state that this job is in."""
        return False

    def note(self, why: str, level: str = "info", before: State | str = "", after: State | str = "") -> None:
        """Keeps what happened where somebody will look for it. A job that is only a means has no story."""
