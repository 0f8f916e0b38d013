"""Define the JSON of what a run wrote: curves, populations, engines, responses, checkpoints."""

from __future__ import annotations

from typing import Any

from ninja import Schema

from runs.http import Number


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


class MeasuredOut(Schema):
    """A series' provenance. `origin`: evaluator, import or push; `estimator`: exact, k3, mean or unknown; `decoding` of
    the answers: greedy, sampled or unknown; `temperature` and `samples` (a prompt) are null where they are unknown."""

    origin: str
    estimator: str
    decoding: str
    temperature: float | None
    samples: int | None


class CurveOut(Schema):
    """One key of one run. `overwritten` marks points that a resume went over again; `points` counts them all, before
    down-sampling; `cursor` is where a socket goes on from. `measured` says how an evaluation measured it, and is null
    for keys of training."""

    run: str
    key: str
    measured: MeasuredOut | None
    x: list[Number]
    y: list[Number]
    overwritten: list[bool]
    points: int
    cursor: int


class SeriesOut(Schema):
    """Curves by run, then key, in the order asked; those without a point are left out."""

    x: str
    curves: list[CurveOut]


class PopulationOut(Schema):
    """The members of one step. For ES each is a perturbation, with the seed of its noise, its z-scored fitness, and the
    number of the engine that answered for it where several share them; for GRPO each is an answer of a group."""

    step: int
    attempt: int
    members: list[dict[str, Any]]


class PopulationsOut(Schema):
    """Populations in the order written. Where `next` is not null there are more: send it back as `cursor`."""

    items: list[PopulationOut]
    next: int | None = None


class EngineOut(Schema):
    """Describe an engine after a step. Engine 0 is the training process. `state`: ready, starting or given_up;
    `members`, `tokens` and `seconds` count its answers and the time that they took since the training process started,
    `restarts` counts how often the engine was started again. `weights` is the hash of its weights after step
    `compared_at`, which is null before the first comparison."""

    number: int
    state: str
    device: str
    members: int
    tokens: int
    seconds: float
    restarts: int
    weights: str
    compared_at: int | None


class EngineReportOut(Schema):
    """The engines after one step. Counts begin anew in each epoch of an attempt. `t` is the Unix time of the report,
    and `bytes` were sent to each engine for the step's update."""

    step: int
    attempt: int
    epoch: int
    t: float
    bytes: int
    engines: list[EngineOut]


class EngineReportsOut(Schema):
    """Reports in the order written. Where `next` is not null there are more: send it back as `cursor`."""

    items: list[EngineReportOut]
    next: int | None = None


class PromptOut(Schema):
    """Describe a prompt: `text` is what the model was asked, `target` is the reference answer."""

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
    scores: dict[str, dict[str, Number]]
    """scorer -> what it scored afterwards, reward and cost -> its score."""
    is_superseded: bool
    """Whether the step was evaluated again since: the later evaluation holds."""


class PartialOut(Schema):
    """An evaluated step of which answers are missing: `answers` of `whole` hold."""

    step: int
    answers: int
    whole: int


class ResponsesOut(Schema):
    """Answers in the order written. Where `next` is not null there are more: send it back as `cursor`. `partial`: the
    run's evaluations that lack answers, so that a mean over them is none over the evaluation; null where `cursor` is
    sent."""

    items: list[ResponseOut]
    next: int | None = None
    partial: list[PartialOut] | None
