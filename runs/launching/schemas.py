"""JSON schemas of runs and attempts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from django.db.models import Q
from ninja import Schema
from pydantic import AfterValidator, Field, model_validator

from runs import metrics
from runs.flags import open_flags
from runs.flags.schemas import FlagOut
from runs.http import Input, Name, Note, Number, Output, Pk, RunName, Tags, Username, Word, is_unstorable
from runs.kinds import EXTERNAL, IMPORTED, LAUNCHED, ORIGINS, Origin
from runs.models import Flag, Run
from workers.config import current_name

PresetName = Annotated[Word, AfterValidator(current_name)]
"""Name of a preset. A former name becomes the current one."""


class NewRun(Input):
    """A run to launch, or one for each of `seeds`. Give `experiment`, or `experiment_name`: yours, created if new."""

    kind: Literal["launched"] = "launched"
    experiment: Pk | None = None
    experiment_name: Name | None = None
    preset: PresetName = ""
    config: dict[str, Any] = Field(default_factory=dict)
    name: RunName = ""
    seed: int | None = None
    seeds: Annotated[list[int], Field(max_length=100)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> NewRun:
        if (self.experiment is None) == (self.experiment_name is None):
            raise ValueError("give either experiment (its id) or experiment_name")
        if self.seed is not None and self.seeds is not None:
            raise ValueError("give either seed or seeds")
        if self.seeds is not None and len(set(self.seeds)) < max(len(self.seeds), 1):
            raise ValueError("seeds must contain at least one seed, and none twice")
        if is_unstorable(self.config):
            raise ValueError("config must contain no NUL characters and no unpaired surrogates")
        return self


class CloneRun(Input):
    """Changes of the new run. `config` is merged over the old run's config; `experiment` defaults to its own."""

    seed: int | None = None
    name: RunName = ""
    config: dict[str, Any] = Field(default_factory=dict)
    experiment: Pk | None = None

    @model_validator(mode="after")
    def _fits(self) -> CloneRun:
        if is_unstorable(self.config):
            raise ValueError("config must contain no NUL characters and no unpaired surrogates")
        return self


class ChangedRun(Input):
    """Fields of a run to change; omitted fields stay. `archived` removes the run from lists, or restores it."""

    name: Name | None = None
    tags: Tags | None = None
    note: Note | None = None
    archived: bool | None = None


if TYPE_CHECKING:
    OriginSlug = str
else:
    OriginSlug = Literal[*(origin.slug for origin in ORIGINS)]


class RunOut(Output):
    """A run. `url` is its page. `kind`: launched if this site runs it, imported if it was read from files, external if
    a program elsewhere trains and reports it. `parent`: the uid of the training with the model that this run evaluates
    or examines, the first of several, if it is known and you may see it; `parent_step`: its step, if the config names
    one.

    `flags`: the open flags, signs that its training cheats.
    """

    uid: str
    kind: OriginSlug
    name: str
    experiment: int
    sweep: int | None
    parent: str | None
    parent_step: int | None
    method: str
    preset: str
    seed: int
    state: str
    created_at: datetime
    created_by: Username
    tags: list[str]
    note: str
    archived_at: datetime | None
    deleted_at: datetime | None
    url: str
    flags: list[FlagOut]
    config: dict[str, Any]

    @classmethod
    def from_run(cls, run: Run, origin: Origin, flags: Sequence[Flag], **more: Any) -> Self:
        """Return the run as JSON; `flags` are its open ones, `more` holds the fields that a wider schema adds."""
        parent = run.parent
        return cls.from_row(
            run, kind=origin.slug, experiment=run.experiment_id, sweep=run.sweep_id, parent=parent and parent.uid,
            parent_step=run.parent_step if parent else None, url=run.get_absolute_url(),
            flags=[FlagOut.from_row(flag) for flag in flags], **more,
        )  # fmt: skip


class RunsOut(Schema):
    """Runs, newest first. If `next` is not null there are more: send it back as `cursor`."""

    items: list[RunOut]
    next: int | None = None


class AttemptOut(Output):
    """One scheduler job of a run. `reason` is why it waits or how it ended; `phase` is the trainer's activity.

    It resumes from `resumed_step`, saved by attempt `resumed_attempt`; both are null if it starts from the beginning.
    `origin` is what created it: launch, resume, restart, preemption, site_start, import or external. If `restart_at` is
    not null, the next attempt follows at that time. It was submitted to its cluster `submits` times; `submit_again_at`
    is the time before which it is not submitted again, null if the cluster has not refused it for now.
    """

    key: str
    n: int
    state: str
    reason: str
    submits: int
    submit_again_at: datetime | None
    origin: str
    resumed_attempt: int | None
    resumed_step: int | None
    restart_at: datetime | None
    phase: str
    phase_message: str
    progress: float | None
    exit_code: int | None
    exit_signal: int | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    seconds: float | None


class EventOut(Schema):
    """An event of an attempt: a change of state, or an alert from the run."""

    at: datetime
    level: str
    from_state: str
    to_state: str
    why: str


class AttemptDetail(AttemptOut):
    """An attempt with its events, oldest first.

    `code` is the code that was pinned before it was submitted; `environment` is what it reported to run on, with the
    versions of all `packages`. Each is null if it does not exist.
    """

    run: str
    events: list[EventOut]
    code: dict[str, Any] | None
    environment: dict[str, Any] | None


class AttemptsOut(Schema):
    """The attempts of a run, oldest first."""

    items: list[AttemptOut]


class ExternalOut(Output):
    """The program that trains an external run: its name, machine and command, the state of its code, its results, and
    the silence in seconds after which it counts as lost."""

    program: str
    host: str
    command: str
    git: dict[str, Any]
    summary: dict[str, Any]
    lost_after_seconds: float


class RunDetail(RunOut):
    """A run with its attempts, oldest first, and the newest value of each key. `external` is null unless its kind is
    external."""

    attempts: list[AttemptOut]
    latest: dict[str, Number]
    external: ExternalOut | None


def run_out(run: Run) -> RunOut:
    """Return one run as JSON, with its open flags."""
    return runs_out([run]).items[0]


def runs_out(runs: Sequence[Run], following: int | None = None) -> RunsOut:
    """Return runs as JSON, with their open flags. Two queries, however many runs."""
    flags, origins = open_flags(run.pk for run in runs), _origins(runs)
    items = [RunOut.from_run(run, origins.get(run.pk, LAUNCHED), flags.get(run.pk, ())) for run in runs]
    return RunsOut(items=items, next=following)


def run_detail(run: Run) -> RunDetail:
    """Return a run as JSON, with its attempts and the newest value of each key."""
    attempts = [AttemptOut.from_row(attempt) for attempt in run.attempts.order_by("n")]
    newest = metrics.latest([run])[run.pk]
    values = metrics.json_floats(np.array(list(newest.values()), np.float64))
    return RunDetail.from_run(
        run,
        run.kind.origin,
        open_flags([run.pk]).get(run.pk, ()),
        attempts=attempts,
        latest=dict(zip(newest, values, strict=True)),
        external=ExternalOut.from_row(run.external) if hasattr(run, "external") else None,
    )


def _origins(runs: Sequence[Run]) -> dict[int, Origin]:
    """Return the origins of those runs that this site does not run. One query."""
    elsewhere = Run.objects.filter(pk__in=[run.pk for run in runs])
    elsewhere = elsewhere.filter(Q(source__isnull=False) | Q(external__isnull=False))
    rows = elsewhere.values_list("pk", "external__pk")
    return {pk: IMPORTED if external is None else EXTERNAL for pk, external in rows}
