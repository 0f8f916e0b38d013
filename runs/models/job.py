"""Clusters and jobs: the base model that attempts and rebuilds have in common."""

from __future__ import annotations

import json
import shlex
from abc import abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Self, TypeVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from runs.models.experiment import Run
from workers.config.run import ComputeConfig
from workers.executors.states import OPEN_STATES, Obstacle, State

STATES = [(s.value, s.value) for s in State]
OBSTACLES = [(o.value, o.value) for o in Obstacle]
OPEN = sorted(s.value for s in OPEN_STATES)
JobT = TypeVar("JobT", bound="Job")


class Cluster(models.Model):
    """A cluster that runs jobs. `config` holds the settings of its executor; `local` is this machine.

    `answered_at` is the time of its last reply under its present config; None until it has replied.
    `unreachable_since_at` is set from the first unanswered request until it replies. `ticked_at` is the time at which
    its jobs were last reconciled, which needs no reply if there are none.

    `inventory` lists its nodes as rows of `NodeShape`, as they were at `inventory_at`; the newest attempt to read them
    was at `inventory_tried_at`. It stays empty for this machine, whose config is its inventory.
    """

    KINDS: ClassVar = [("local", "This machine"), ("slurm", "Slurm"), ("ray", "Ray")]

    name = models.SlugField(max_length=50, unique=True)
    kind = models.CharField(max_length=20, choices=KINDS)
    config = models.JSONField(default=dict, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    unreachable_since_at = models.DateTimeField(null=True, blank=True)
    ticked_at = models.DateTimeField(null=True, blank=True)
    inventory = models.JSONField(default=list, blank=True)
    inventory_at = models.DateTimeField(null=True, blank=True)
    inventory_tried_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name

    @property
    def is_remote(self) -> bool:
        """Return whether the cluster's disk is remote and files are copied over SSH."""
        return bool(self.config.get("address"))

    def set_command(self, key: str, value: object) -> str:
        """Return the shell command by which an administrator sets a key of the config."""
        return shlex.join(["./manage.py", "cluster", "set", self.name, f"{key}={json.dumps(value)}"])

    def note_answer(self) -> None:
        """Store that the cluster replied now, unless its config was changed since this object was read."""
        same = Cluster.objects.filter(pk=self.pk, config=self.config)
        same.update(answered_at=timezone.now(), unreachable_since_at=None)

    def note_silence(self) -> None:
        """Store that the cluster does not reply, unless its config was changed since this object was read."""
        same = Cluster.objects.filter(pk=self.pk, config=self.config)
        same.filter(unreachable_since_at=None).update(unreachable_since_at=timezone.now())


class JobQuerySet(models.QuerySet[JobT]):
    """Jobs, selected by the work that remains."""

    def open(self) -> Self:
        """Return the jobs that have not finished."""
        return self.filter(state__in=OPEN)


class Job(models.Model):
    """A job on a cluster. Its key is its name in the scheduler and the name of its directory."""

    published_change: ClassVar[str]
    """Name of the change that is published when the job changes, so that open pages fetch it again."""
    executes_run: ClassVar[bool] = False
    """Whether the job executes the run's config, with its code and its credentials, so that its end may end the run."""
    requested_fields: ClassVar[tuple[str, ...]] = ("cancel_requested_at",)
    """Fields that a request of a user sets at any time."""
    released: ClassVar[Q] = Q()
    """Condition of jobs that may be submitted: nothing holds them back."""
    staying: ClassVar[Q] = Q()
    """Condition of jobs that are not to leave their cluster."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="%(class)ss")
    key = models.CharField(max_length=60, unique=True)
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="%(class)ss")
    state = models.CharField(max_length=20, choices=STATES, default=State.CREATED.value)
    native_id = models.CharField(max_length=100, blank=True)
    native_state = models.CharField(max_length=100, blank=True)
    reason = models.TextField(blank=True)
    submits = models.PositiveIntegerField(default=0)
    submit_started_at = models.DateTimeField(null=True, blank=True)
    """Time of the last call that may have submitted it; None if there is none, or if the cluster refused it."""
    submit_again_at = models.DateTimeField(null=True, blank=True)
    """Time before which it is not submitted again."""
    obstacle = models.CharField(max_length=10, choices=OBSTACLES, blank=True)
    """Thing that it waits for because its cluster refuses now; empty for none."""
    gone_since_at = models.DateTimeField(null=True, blank=True)
    final_since_at = models.DateTimeField(null=True, blank=True)
    stuck_since_at = models.DateTimeField(null=True, blank=True)
    """Time since when it waits for a condition that its cluster reports as impossible."""
    heartbeat = models.BigIntegerField(default=-1)
    heartbeat_seen_at = models.DateTimeField(null=True, blank=True)
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    progress = models.FloatField(null=True, blank=True)
    exit_code = models.IntegerField(null=True, blank=True)
    exit_signal = models.IntegerField(null=True, blank=True)
    gpu_share = models.FloatField(null=True, blank=True)
    """Fraction of a GPU that was planned when it was submitted, 1 for a whole one; None if it shares none."""
    gpu_memory_mb = models.PositiveIntegerField(default=0)
    """Memory that it may take of the GPU that it shares, in MB of 2²⁰ bytes, as planned; 0: no limit but its share."""
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.key

    @property
    def is_open(self) -> bool:
        """Return whether the job has not finished."""
        return State(self.state) in OPEN_STATES

    @property
    def seconds(self) -> float | None:
        """Return the seconds it has run; None before it has started."""
        if self.started_at is None:
            return None
        return ((self.ended_at or timezone.now()) - self.started_at).total_seconds()

    @property
    def directory(self) -> Path:
        """Return the directory of the job's files."""
        return self.run.root / self.key

    @abstractmethod
    def command(self) -> tuple[str, ...]:
        """Return the module that the job runs with `python -m`, and its arguments."""

    @property
    def compute(self) -> ComputeConfig:
        """Return the nodes that the job requests, with the planned share of a GPU in place of auto.

        Raise ConfigError if the run's config is no longer valid.
        """
        compute = self.run.run_config.compute
        if self.gpu_share is None or compute.gpu_share is not None:
            return compute
        return replace(compute, gpus=self.gpu_share if self.gpu_share < 1 else 1)

    @property
    def code_sha256(self) -> str:
        """Return the fingerprint of the pinned code; empty if none is pinned."""
        return ""

    @property
    def goes_first(self) -> bool:
        """Return whether the job goes before those that wait, because it ran when esweb was stopped."""
        return False

    @property
    def is_moving(self) -> bool:
        """Return whether the run's next job follows as soon as this one has left its cluster."""
        return False

    @property
    def is_withdrawn(self) -> bool:
        """Return whether the job must leave its cluster's queue, unless it has begun."""
        return False

    @property
    def sets_run_state(self) -> bool:
        """Return whether this job's state is the state of the run."""
        return False

    def note(self, why: str, level: str = "info", before: State | str = "", after: State | str = "") -> None:
        """Store an event. The base class stores none: only attempts have a history."""
