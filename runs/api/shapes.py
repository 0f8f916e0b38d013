"""What goes in and comes out of the API, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import ConfigDict, Field, StringConstraints, model_validator

from runs.models import Attempt, Experiment, Run

# PostgreSQL cannot hold NUL: it is refused at the door, where the place in the request is known.
Word = Annotated[str, StringConstraints(max_length=250, pattern=r"^[^\x00]*$")]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
Number = float | str
"""A number; those that JSON lacks are the texts NaN, Infinity and -Infinity."""


class Input(Schema):
    """A request's body: keys that are not known are refused."""

    model_config = ConfigDict(extra="forbid")


class NewExperiment(Input):
    """An experiment to make. A private one is seen by nobody but its owner."""

    name: Name
    question: Annotated[str, StringConstraints(max_length=10_000, pattern=r"^[^\x00]*$")] = ""
    is_private: bool = False


class NewRun(Input):
    """A run to launch, or one for each of `seeds`. Give `experiment`, or `experiment_name`: yours, made where new."""

    experiment: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    experiment_name: Name | None = None
    preset: Word = ""
    config: dict[str, Any] = Field(default_factory=dict)
    name: Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00]*$")] = ""
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
        if _has_nul(self.config):
            raise ValueError("config must hold no NUL characters")
        return self


class CloneRun(Input):
    """What differs in the new run. `config` is laid over the old one's; `experiment` is the old one's by default."""

    seed: int | None = None
    name: Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00]*$")] = ""
    config: dict[str, Any] = Field(default_factory=dict)
    experiment: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None

    @model_validator(mode="after")
    def _fits(self) -> CloneRun:
        if _has_nul(self.config):
            raise ValueError("config must hold no NUL characters")
        return self


class ExperimentOut(Schema):
    """A set of runs that ask one question."""

    id: int
    name: str
    question: str
    owner: str
    is_private: bool
    created_at: datetime
    url: str

    @classmethod
    def of(cls, experiment: Experiment) -> ExperimentOut:
        return cls(
            id=experiment.pk,
            name=experiment.name,
            question=experiment.question,
            owner=experiment.owner.get_username(),
            is_private=experiment.is_private,
            created_at=experiment.created_at,
            url=experiment.get_absolute_url(),
        )


class PresetOut(Schema):
    """A config to start from: what differs from the defaults, and why."""

    name: str
    title: str
    why: str
    config: dict[str, Any]


class RunOut(Schema):
    """A run. `url` is its page."""

    uid: str
    name: str
    experiment: int
    method: str
    preset: str
    seed: int
    state: str
    created_at: datetime
    created_by: str
    url: str
    config: dict[str, Any]

    @classmethod
    def of(cls, run: Run, **more: Any) -> Any:
        """The run as JSON; `more` are what a wider shape adds."""
        return cls(
            uid=run.uid,
            name=run.name,
            experiment=run.experiment_id,
            method=run.method,
            preset=run.preset,
            seed=run.seed,
            state=run.state,
            created_at=run.created_at,
            created_by=run.created_by.get_username(),
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
    def of(cls, attempt: Attempt) -> AttemptOut:
        return cls(**{name: getattr(attempt, name) for name in cls.model_fields})


class RunDetail(RunOut):
    """A run with its attempts, oldest first, and the newest value of each key."""

    attempts: list[AttemptOut]
    latest: dict[str, Number]


class CheckpointOut(Schema):
    """A checkpoint of a run. Where `download` is not null it is there, as a tar file; a `rebuilt` one was made again
    from the replay log, and `state`, `progress` and `reason` say how that stands."""

    step: int
    rebuilt: bool
    state: str
    progress: float | None
    reason: str
    bytes: int | None
    sha256: str
    download: str | None


class CheckpointsOut(Schema):
    """Checkpoints, the last step first. Where `only_saved` is empty, that of any step from 0 to `last_step` can be had;
    else it says why not."""

    items: list[CheckpointOut]
    last_step: int
    only_saved: str


class CurveOut(Schema):
    """One key of one run. `overwritten` marks points that a resume went over again; `points` counts them all, before
    down-sampling; `cursor` is where a socket goes on from."""

    run: str
    key: str
    x: list[Number]
    y: list[Number]
    overwritten: list[bool]
    points: int
    cursor: int


class SeriesOut(Schema):
    """Curves by run, then key, in the order asked; those without a point are left out."""

    x: str
    curves: list[CurveOut]


class PromptOut(Schema):
    """What was asked, and the reference answer."""

    id: int
    name: str
    text: str
    target: str


class ResponseOut(Schema):
    """A model's answer. Sample 0 is greedy."""

    step: int
    split: str
    prompt: PromptOut
    sample: int
    text: str
    tokens: int
    reward: Number
    parts: dict[str, Number]
    kl: Number | None


class ResponsesOut(Schema):
    """Answers in the order written. Where `next` is not null there are more: send it back as `cursor`."""

    items: list[ResponseOut]
    next: int | None = None


class KeptOut(Schema):
    """How many records were new, and the seq that the next one must have."""

    kept: int
    next_seq: int


def _has_nul(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_has_nul(k) or _has_nul(v) for k, v in value.items())
    if isinstance(value, list):
        return any(map(_has_nul, value))
    return isinstance(value, str) and "\x00" in value
