"""Experiments, which ask a question, and runs, which answer it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Func, Max, Q, Value
from django.urls import reverse
from django.utils.functional import cached_property

from runs import kinds
from runs.kinds import Kind
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
"""Columns that tables read of all runs of an experiment, from the index alone: rows are wide with their configs."""
UID_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"


def new_uid() -> str:
    """Return a public name for a run: ten letters without look-alikes, so that installations never share a job name."""
    return "".join(secrets.choice(UID_LETTERS) for _ in range(10))


def config_section(config: object, name: str) -> Mapping[str, Any]:
    """Return a section of a config; empty if there is none, or if it is no object: imported and external runs have
    configs of any form."""
    section = config.get(name) if isinstance(config, Mapping) else None
    return section if isinstance(section, Mapping) else {}


def config_count(config: object, section: str, name: str, default: int = 0) -> int:
    """Return a whole number of a config from 0; the default if there is none."""
    value = config_section(config, section).get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        return default
    return value


class ExperimentQuerySet(ShelvedQuerySet["Experiment"]):
    """Experiments, selected by the rights of users."""

    def visible_to(self, person: Person) -> Self:
        """Return the experiments that this user may see: public ones and their own, or all for a superuser. None of
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
    """Runs, selected by the rights of users and by state."""

    def visible_to(self, person: Person) -> Self:
        """Return the runs of the experiments that this user may see, without those in the trash."""
        return self.filter(experiment__in=Experiment.objects.visible_to(person), deleted_at__isnull=True)

    def permitted_to(self, person: Person) -> Self:
        """Return the runs that `visible_to` returns, and those in the trash: a run that was deleted may still be
        writing its last records."""
        return self.filter(experiment__in=Experiment.objects.permitted_to(person))

    def trainings(self) -> Self:
        """Return the runs of the kinds that lists, statistics and comparisons read unless a reader narrows them: all
        but those of kinds that are not listed."""
        return self.exclude(method__in=kinds.UNLISTED_METHODS)

    def of_kind(self, kind: Kind) -> Self:
        """Return the runs with a method of this kind, of any origin."""
        return self.filter(method__in=kind.methods)

    def with_visible_parent(self, person: Person) -> Self:
        """Return the runs with `parent` loaded, which is None if this user may not see it."""
        return self.prefetch_related(models.Prefetch("parent", queryset=Run.objects.visible_to(person)))

    def open(self) -> Self:
        """Return the runs that have not finished."""
        return self.filter(state__in=OPEN_STATES)


class Run(Shelved):
    """A training. Its state is that of its newest attempt, stored here so that a table can sort by it."""

    uid = models.CharField(max_length=10, unique=True, default=new_uid, editable=False)
    # Other indexes begin with the experiment.
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
    """Equal for runs that differ only in their seed and in where they run."""
    state = models.CharField(max_length=20, choices=[(s.value, s.value) for s in State], default=State.CREATED.value)
    parent = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, blank=True, related_name="evaluations")
    """Training with the model that this run evaluates or examines, the first of several; None for trainings, and if
    unknown."""
    parent_step = models.BigIntegerField(null=True, blank=True)
    """Step of the parent, if the config names one; else None."""
    sweep = models.ForeignKey("runs.Sweep", on_delete=models.SET_NULL, null=True, blank=True, related_name="runs")
    cell = models.JSONField(null=True, blank=True)
    """Cell of its sweep: key -> value, as in its config."""
    estimated_seconds = models.FloatField(null=True, blank=True)
    """Duration estimated at launch; None if there was no run to estimate it from."""
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="runs")
    created_at = models.DateTimeField(auto_now_add=True)
    last_step = models.BigIntegerField(default=0, db_default=0, editable=False)
    """Newest step of its compacted series; valid while the run has no batch (`Batch`)."""
    time_taken = models.DurationField(default=timedelta, db_default=Value(timedelta()), editable=False)
    """Total duration of its finished attempts. A database trigger maintains it for every writer of attempts."""

    objects = RunQuerySet.as_manager()

    class Meta:
        indexes = (
            models.Index(
                fields=["experiment", "state"],
                include=["archived_at", "id"],
                condition=Q(deleted_at=None),
                name="run_by_state",
            ),
            # Ascending, because new runs then fill its last page. With "-id" every insert splits a full page in halves.
            models.Index(fields=["experiment", "id"], include=NARROW, name="run_narrow"),
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
        """Return the config as the trainer reads it. Raise ConfigError if a stored config is no longer valid."""
        return RunConfig.from_json(self.config)

    @property
    def root(self) -> Path:
        """Return the directory that holds the run's attempts."""
        return Path(settings.RUNS_DIR) / self.uid

    @property
    def is_open(self) -> bool:
        """Return whether the run has not finished."""
        return State(self.state) in OPEN_STATES

    @property
    def kind(self) -> Kind:
        """Return the kind of the run, by its method and origin. It reads `source` and `external`, so rows are selected
        with them; `kinds.kind_of(run.method)` answers what does not depend on the origin."""
        origin = kinds.IMPORTED if hasattr(self, "source") else kinds.LAUNCHED
        return kinds.kind_of(self.method, kinds.EXTERNAL if hasattr(self, "external") else origin)

    @property
    def repetition(self) -> tuple[str, int]:
        """Return what distinguishes this run of its setting from others: the recipe and the seed. A run of unknown seed
        (-1) is a repetition of its own, with a number below -1 for its seed."""
        return self.recipe, self.seed if self.seed >= 0 else -1 - self.pk

    @property
    def prior_tasks(self) -> list[str]:
        """Return the names of the further tasks of an evaluation. The prompts of their responses have the task's name
        among their categories."""
        tasks = config_section(self.config, kinds.EVALUATION.method).get("prior_tasks")
        listed = tasks if isinstance(tasks, list | tuple) else ()
        return [task["name"] for task in listed if isinstance(task, dict) and isinstance(task.get("name"), str)]

    @property
    def waits_to_restart(self) -> bool:
        """Return whether the run has finished and its next attempt will be created automatically."""
        return self.attempts.filter(restart_at__isnull=False).exists()

    def same_question(self, prefix: str = "") -> dict[str, Any]:
        """Return the filters of runs with the same model and task, as far as the config names them; empty if it names
        neither. `prefix`: the path from the filtered rows to their run, such as `run__`."""
        return {
            f"{prefix}config__{section}__{name}": values[name]
            for section, name in (("model", "path"), ("task", "name"))
            if name in (values := config_section(self.config, section))
        }

    def reached_step(self) -> int:
        """Return the last step that the run has recorded or saved; 0 before the first. Two queries."""
        reached = self.population_set.aggregate(last=Max("step"))["last"]
        saved = self.checkpoint_set.aggregate(last=Max("step"))["last"]
        return max(reached or 0, saved or 0)

    def newest_attempt(self) -> Attempt | None:
        """Return the newest attempt, which sets the run's state, or None before the first."""
        return self.attempts.order_by("-n").first()
