"""JSON schemas of a run's records: curves, populations, engines, responses, checkpoints."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from ninja import Schema
from pydantic import BeforeValidator

from runs import metrics
from runs.http import AttemptNumber, Number, Output
from runs.models import Response

JsonNumber = Annotated[Number, BeforeValidator(lambda value: metrics.json_floats(np.array([value]))[0])]


class CheckpointOut(Output):
    """A checkpoint of a run. If `download` is not null, it is available as a tar file. A `rebuilt` checkpoint was made
    again from the replay log; `state`, `progress` and `reason` describe that rebuild. `availability`: on_disk;
    rebuildable, deleted and to be rebuilt on request; or gone."""

    step: int
    rebuilt: bool
    availability: Literal["on_disk", "rebuildable", "gone"]
    state: str
    progress: float | None
    reason: str
    bytes: int | None
    sha256: str
    download: str | None


class CheckpointsOut(Schema):
    """Checkpoints, the last step first. If `only_saved` is empty, the checkpoint of any step from 0 to `last_step` is
    available; otherwise it gives the reason."""

    items: list[CheckpointOut]
    last_step: int
    only_saved: str


class MeasuredOut(Schema):
    """A series' provenance. `origin`: evaluator, import or push; `estimator`: exact, k3, mean or unknown; `decoding` of
    the answers: greedy, sampled or unknown; `temperature` and `samples` (a prompt) are null where they are unknown.
    `rounding` is captured where captured steps wrote the answers in 16 bits, else null."""

    origin: str
    estimator: str
    decoding: str
    temperature: float | None
    samples: int | None
    rounding: str | None


class CurveOut(Schema):
    """Curve of a key of a run. `overwritten` marks points that a resume wrote again; `points` counts all points, before
    down-sampling; a socket continues from `cursor`. `measured` is the measurement by an evaluation, null for keys of
    training."""

    run: str
    key: str
    measured: MeasuredOut | None
    x: list[Number]
    y: list[Number]
    overwritten: list[bool]
    points: int
    cursor: int


class SeriesOut(Schema):
    """Curves by run, then key, in the requested order; curves without a point are left out."""

    x: str
    curves: list[CurveOut]


class PopulationOut(Output):
    """The members of one step. For ES each is a perturbation, with the seed of its noise, its z-scored fitness, and its
    engine's number if several engines share the members. For GRPO each is a response of a group."""

    step: int
    attempt: AttemptNumber
    members: list[dict[str, Any]]


class PopulationsOut(Schema):
    """Populations in the order written. If `next` is not null there are more: send it back as `cursor`."""

    items: list[PopulationOut]
    next: int | None = None


class EngineOut(Schema):
    """Describe an engine after a step. Engine 0 is the training process. `state`: ready, starting or given_up;
    `members`, `tokens` and `seconds` count its answers and the time that they took since the training process started,
    `restarts` counts how often the engine was started again. `weights` is the hash of its weights after step
    `compared_at`, which is null before the first comparison. `node`: the machine, empty if the run does not name it."""

    number: int
    state: str
    device: str
    members: int
    tokens: int
    seconds: float
    restarts: int
    weights: str
    compared_at: int | None
    node: str = ""


class EngineReportOut(Output):
    """The engines after one step. Counts start again in each epoch of an attempt. `t` is the Unix time of the report,
    and `bytes` were sent to each engine for the step's update."""

    step: int
    attempt: AttemptNumber
    epoch: int
    t: float
    bytes: int
    engines: list[EngineOut]


class EngineReportsOut(Schema):
    """Reports in the order written. If `next` is not null there are more: send it back as `cursor`."""

    items: list[EngineReportOut]
    next: int | None = None


class PromptOut(Output):
    """A prompt: `text` is the model's input, `target` is the reference answer."""

    id: int
    name: str
    text: str
    target: str


class ResponseOut(Output):
    """A model's response. In the split eval, sample 0 is greedy; in the split train, samples count from 0."""

    step: int
    split: str
    prompt: PromptOut
    sample: int
    text: str
    tokens: int
    reward: JsonNumber
    parts: dict[str, Number]
    kl: JsonNumber | None
    scores: dict[str, dict[str, Number]]
    """Scores given afterwards, by scorer, then reward or cost."""
    is_superseded: bool
    """True if the step was evaluated again later: the later evaluation counts."""

    @staticmethod
    def resolve_scores(response: Response) -> dict[str, dict[str, float | str]]:
        """Return the scores, which must be prefetched."""
        scores_by_scorer: dict[str, dict[str, float | str]] = {}
        for score in response.scores.all():
            scores_by_scorer.setdefault(score.scorer, {})[score.key] = score.value
        return scores_by_scorer


class PartialOut(Output):
    """An evaluated step with missing responses: `answers` of `whole` exist."""

    step: int
    answers: int
    whole: int


class ResponsesOut(Schema):
    """Responses in the order written. If `next` is not null there are more: send it back as `cursor`. `partial`: the
    run's evaluations that lack responses, so that a mean over them is not the evaluation's mean; null if `cursor` is
    sent."""

    items: list[ResponseOut]
    next: int | None = None
    partial: list[PartialOut] | None
