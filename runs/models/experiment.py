"""Experiments ask a question; runs answer it."""

from __future__ import annotations

import secrets
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Self

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Func, Q, Value
from django.urls import reverse
from django.utils.functional import cached_property

from runs.models.trash import Shelved, ShelvedQuerySet
from workers.config import RunConfig
from workers.executors.states import OPEN_STATES, State

if TYPE_CHECKING:
    from runs.models.attempt import Attempt

Person = AbstractBaseUser | AnonymousUser
NARROW = (
    "archived_at", "deleted_at", "state", "method", "preset", "seed", "name", "created_by", "recipe", "last_step",
    "time_taken", "created_at",
)  # fmt: skip
"""What tables ask of all runs of an experiment: from the index alone, since rows are wide with their configs."""
UID_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"


def new_uid() -> str:
    """A public name for a run: ten letters without look-alikes, so that two installations never share a job name."""
    return "".join(secrets.choice(UID_LETTERS) for _ in range(10))


class ExperimentQuerySet(ShelvedQuerySet["Experiment"]):
    """Experiments, as people may see them."""

    def visible_to(self, person: Person) -> Self:
        """Return the experiments that this person may see: public ones and their own, or all for a superuser. None of
        them is in the trash."""
        return self.permitted_to(person).filter(deleted_at__isnull=True)

    def permitted_to(self, person: Person) -> Self:
        """Return the experiments that `visible_to` returns, and those in the trash."""
        if not person.is_authenticated or not getattr(person, "is_active", False):
            return self.none()
        if getattr(person, "is_superuser", False):
            return self
        return self.filter(Q(is_private=False) | Q(owner_id=person.pk))


class Experiment(Shelved):
    """A set of runs that ask one question."""

    name = models.CharField(max_length=200)
    question = models.TextField(blank=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="experiments")
    is_private = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ExperimentQuerySet.as_manager()

    class Meta:
        indexes = (
            models.Index(fields=["deleted_at"], condition=Q(deleted_at__isnull=False), name="experiment_in_bin"),
        )

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("experiment", args=[self.pk])


class RunQuerySet(ShelvedQuerySet["Run"]):
    """Runs, by who may see them and how they stand."""

    def visible_to(self, person: Person) -> Self:
        """Runs of the experiments this person may see. Nothing from the bin."""
        return self.filter(experiment__in=Experiment.objects.visible_to(person), deleted_at__isnull=True)

    def permitted_to(self, person: Person) -> Self:
        """Return the runs that `visible_to` returns, and those in the trash: a run that was deleted may still be
        writing its last records."""
        return self.filter(experiment__in=Experiment.objects.permitted_to(person))

    def open(self) -> Self:
        """Runs that have not ended."""
        return self.filter(state__in=OPEN_STATES)


class Run(Shelved):
    """One training. Its state is that of its newest attempt, kept here so that a table can sort by it."""

    uid = models.CharField(max_length=10, unique=True, default=new_uid, editable=False)
    # Every index on it begins with the experiment, or is for another question.
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="runs", db_index=False)
    name = models.CharField(max_length=200)
    preset = models.CharField(max_length=100, blank=True)
    method = models.CharField(max_length=20)
    seed = models.BigIntegerField()
    config = models.JSONField()
    recipe = models.GeneratedField(
        expression=Func(F("config"), template="md5((%(expressions)s - '{seed,compute,tracking}'::text[])::text)"),
        output_field=models.CharField(max_length=32),
        db_persist=True,
    )
    """The same for runs that differ in nothing but their seed, and in where they run."""
    state = models.CharField(max_length=20, choices=[(s.value, s.value) for s in State], default=State.CREATED.value)
    parent = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="evaluations")
    """The training whose model this run evaluates; empty for trainings, and where that is not known."""
    sweep = models.ForeignKey("runs.Sweep", on_delete=models.SET_NULL, null=True, blank=True, related_name="runs")
    cell = models.JSONField(null=True, blank=True)
    """Which cell of its sweep it is: key -> value, as its config has it."""
    estimated_seconds = models.FloatField(null=True, blank=True)
    """How long it was to take when it was launched; empty where there was no run to tell it from."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="runs")
    created_at = models.DateTimeField(auto_now_add=True)
    last_step = models.BigIntegerField(default=0, db_default=0, editable=False)
    """The newest step of its series, as far as they are compacted: true while the run has no batch (`Batch`)."""
    time_taken = models.DurationField(default=timedelta, db_default=Value(timedelta()), editable=False)
    """How long its attempts that have ended took together. The database keeps it itself, whoever writes an attempt."""

    objects = RunQuerySet.as_manager()

    class Meta:
        indexes = (
            models.Index(
                fields=["experiment", "state"],
                include=["archived_at", "id"],
                condition=Q(deleted_at=None),
                name="run_by_state",
            ),
            models.Index(fields=["experiment", "-id"], include=NARROW, name="run_newest_first"),
            models.Index(fields=["experiment", "recipe"], name="run_by_recipe"),
            models.Index(fields=["deleted_at"], condition=Q(deleted_at__isnull=False), name="run_in_bin"),
            GinIndex(fields=["config"], opclasses=["jsonb_path_ops"], name="run_by_config"),
            GinIndex(fields=["tags"], name="run_by_tag"),
            models.Index(fields=["id"], condition=~Q(tags=[]), name="run_tagged"),
            models.Index(fields=["id"], condition=~Q(note=""), name="run_noted"),
        )

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("run", args=[self.uid])

    @cached_property
    def run_config(self) -> RunConfig:
        """The config as the trainer reads it. Raises ConfigError where a stored one no longer fits."""
        return RunConfig.from_json(self.config)

    @property
    def root(self) -> Path:
        """Directory that holds the run's attempts."""
        return Path(settings.RUNS_DIR) / self.uid

    @property
    def is_open(self) -> bool:
        """True while the run has not ended."""
        return State(self.state) in OPEN_STATES

    @property
    def is_imported(self) -> bool:
        """True where it was read from files: it ran elsewhere, and nothing of it is on any cluster of this site."""
        return hasattr(self, "source")

    @property
    def waits_to_restart(self) -> bool:
        """True where it has ended and its next attempt will be made by itself."""
        return self.attempts.filter(restart_at__isnull=False).exists()

    def newest_attempt(self) -> Attempt | None:
        """The attempt that speaks for the run, or None before the first."""
        return self.attempts.order_by("-n").first()
