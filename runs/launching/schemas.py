"""What the API says and takes of runs and attempts, as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import numpy as np
from ninja import Schema
from pydantic import Field, model_validator

from runs import metrics
from runs.http import Input, Name, Note, Number, Pk, RunName, Tags, Word, unkeepable
from runs.models import Attempt, Run


class NewRun(Input):
    """A run to launch, or one for each of `seeds`. Give `experiment`, or `experiment_name`: yours, made where new."""

    experiment: Pk | None = None
    experiment_name: Name | None = None
    preset: Word = ""
    config: dict[str, Any] = Field(default_factory=dict)
    name: RunName = ""
    seed: int | None = None
    seeds: Annotated[list[int], Field(max_length=100)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> NewRun:
        if (self.experiment is None) == (self.experiment_name is None):
            raise ValueError("give either experiment, its id, or experiment_name")
        if self.seed is not None and self.seeds is not None:
            raise ValueError("give either seed or seeds")
        if self.seeds is not None and len(set(self.seeds)) < max(len(self.seeds), 1):
            raise ValueError("seeds must be at least one, each once")
        if unkeepable(self.config):
            raise ValueError("config must hold no NUL characters and no halves of characters")
        return self


class CloneRun(Input):
    """State what differs in the new run. `config` is laid over the old run's config; `experiment` is the old run's by
    default."""

    seed: int | None = None
    name: RunName = ""
    config: dict[str, Any] = Field(default_factory=dict)
    experiment: Pk | None = None

    @model_validator(mode="after")
    def _fits(self) -> CloneRun:
        if unkeepable(self.config):
            raise ValueError("config must hold no NUL characters and no halves of characters")
        return self


class ChangedRun(Input):
    """Change the fields of a run that are given; those that are left out stay. `archived` takes the run out of lists,
    or puts it back."""

    name: Name | None = None
    tags: Tags | None = None
    note: Note | None = None
    archived: bool | None = None


class RunOut(Schema):
    """A run. `url` is its page. `parent`: the uid of the training whose model this run evaluates, if it is known."""

    uid: str
    name: str
    experiment: int
    sweep: int | None
    parent: str | None
    method: str
    preset: str
    seed: int
    state: str
    created_at: datetime
    created_by: str
    tags: list[str]
    note: str
    archived_at: datetime | None
    deleted_at: datetime | None
    url: str
    config: dict[str, Any]

    @classmethod
    def of(cls, run: Run, **more: Any) -> Any:
        """The run as JSON; `more` are what a wider shape adds."""
        return cls(
            uid=run.uid,
            name=run.name,
            experiment=run.experiment_id,
            sweep=run.sweep_id,
            parent=None if run.parent is None else run.parent.uid,
            method=run.method,
            preset=run.preset,
            seed=run.seed,
            state=run.state,
            created_at=run.created_at,
            created_by=run.created_by.get_username(),
            tags=run.tags,
            note=run.note,
            archived_at=run.archived_at,
            deleted_at=run.deleted_at,
            url=run.get_absolute_url(),
            config=run.config,
            **more,
        )


class RunsOut(Schema):
    """Runs, newest first. Where `next` is not null there are more: send it back as `cursor`."""

    items: list[RunOut]
    next: int | None = None


class AttemptOut(Schema):
    """One scheduler job of a run. `reason` says why it waits or how it ended; `phase` what the trainer is doing.

    It goes on from `resumed_step`, saved by attempt `resumed_attempt`; null where it starts from the beginning.
    `origin` says what made it: launch, resume, restart or preemption. Where `restart_at` is not null, another one
    follows then.
    """

    key: str
    n: int
    state: str
    reason: str
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

    @classmethod
    def of(cls, attempt: Attempt, **more: Any) -> Any:
        """The attempt as JSON; `more` are what a wider shape adds."""
        return cls(**{name: getattr(attempt, name) for name in AttemptOut.model_fields}, **more)


class EventOut(Schema):
    """Something that happened to an attempt: a change of state, or an alert from the run."""

    at: datetime
    level: str
    from_state: str
    to_state: str
    why: str


class AttemptDetail(AttemptOut):
    """An attempt with its events, oldest first.

    `code` is what was pinned before it was submitted; `environment` what it ran on, by its own word, with the versions
    of all `packages`. Null where it has not said.
    """

    run: str
    events: list[EventOut]
    code: dict[str, Any] | None
    environment: dict[str, Any] | None


class AttemptsOut(Schema):
    """The attempts of a run, oldest first."""

    items: list[AttemptOut]


class RunDetail(RunOut):
    """A run with its attempts, oldest first, and the newest value of each key."""

    attempts: list[AttemptOut]
    latest: dict[str, Number]


def run_detail(run: Run) -> RunDetail:
    """Return a run as JSON, with its attempts and the newest value of each key."""
    attempts = [AttemptOut.of(attempt) for attempt in run.attempts.order_by("n")]
    newest = metrics.latest([run])[run.pk]
    values = metrics.sayable(np.array(list(newest.values()), np.float64))
    shown: RunDetail = RunDetail.of(run, attempts=attempts, latest=dict(zip(newest, values, strict=True)))
    return shown
