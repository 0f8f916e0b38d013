"""JSON schemas of flags, their dismissals and thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Self

from ninja import Schema
from pydantic import BeforeValidator, Field, Strict

from runs.flags.commands import MAX_REASON
from runs.flags.queries import FlagView
from runs.flags.sentences import reason_of, title_of
from runs.http import Input, Output, Text, Username, Word
from runs.models import FlagThresholds
from workers.analysis.detectors import DETECTORS

Threshold = Annotated[float, Strict()] | None
ResponseText = Annotated[str, BeforeValidator(lambda response: response.text)]


class FlagOut(Output):
    """A sign that a training cheats: `detector` fired at the evaluation at `step`, for the first time at `first_step`.

    `value` is beyond `limit`, which follows from the detector's threshold and from `before`, the value of
    `compared_with`; `before` is null if there was none. Of the detectors `score` and `length`, `value` is the share of
    the responses that are worse or longer than before training. `n` is the number of responses or runs behind the
    value, null if unknown. `p` is the p-value of the test and `level` what it had to be at most, at the evaluation with
    this `number` after the base. `low` and `high` are the 95 % interval of the change of the share, or
    of the share itself without `before`. These five are null for a flag of a version without tests, `low` and `high`
    also for a measure that is no share. `reason` states the same in words.
    """

    detector: str
    title: str
    step: int
    first_step: int
    value: float
    limit: float
    before: float | None
    n: int | None
    compared_with: str
    p: float | None
    level: float | None
    number: int | None
    low: float | None
    high: float | None
    reason: str

    resolve_title = staticmethod(title_of)
    resolve_reason = staticmethod(reason_of)


class DismissalOut(Output):
    """A user's reason why a flag is no cheating. It applies while the run's data at `step` are the same and nobody
    undid it."""

    reason: str
    step: int
    dismissed_by: Username
    dismissed_at: datetime
    undone_by: Username | None
    undone_at: datetime | None


class ExampleOut(Output):
    """A response at the flagged step (`now`), and the response to the same prompt before training, null if unknown.

    `target` is the prompt's expected answer, empty if it has none.
    """

    prompt: str = Field(validation_alias="now.prompt.text")
    target: str = Field(validation_alias="now.prompt.target")
    before: ResponseText | None
    now: ResponseText


class FlagDetail(FlagOut):
    """A flag with its history. `is_current`: it fired at the newest evaluation. `is_open`: it is current and not
    dismissed. `dismissals`: the newest first. `examples`: at most three, the most telling first."""

    is_current: bool
    is_open: bool
    detected_at: datetime
    dismissals: list[DismissalOut]
    examples: list[ExampleOut]

    @classmethod
    def from_view(cls, view: FlagView) -> Self:
        """Return the flag as JSON."""
        return cls.from_row(view.flag, is_open=view.is_open, dismissals=view.dismissals, examples=view.pairs)


class FlagsOut(Schema):
    """All flags of a run, open ones first. `cannot_fire`: detectors that too few responses keep quiet at the newest
    evaluation, whatever the responses are."""

    items: list[FlagDetail]
    cannot_fire: list[str]


class NewDismissal(Input):
    """The reason why a flag is no cheating. It is stored with the flag."""

    reason: Annotated[Text, Field(min_length=1, max_length=MAX_REASON)]


class NewThresholds(Input):
    """Detector -> threshold, null to turn the detector off. Detectors that are left out keep the default, or the site's
    threshold in an experiment."""

    thresholds: Annotated[dict[Word, Threshold], Field(max_length=len(DETECTORS))]


class DetectorOut(Output):
    """A detector: what it detects (`label`), its default threshold, from `low` to `high`, in `unit`, and the reason for
    the default with its sources. `alone`: the limit of the share where no evaluation before training is known, null if
    it then does not judge. `weight`: its part of the error of a run. `test`: the exact test."""

    name: str
    label: str
    threshold: float
    low: float
    high: float
    unit: str
    alone: float | None
    weight: float
    meaning: str
    test: str
    reason: str
    sources: str


class ThresholdsOut(Output):
    """The thresholds of the site or of an experiment. `thresholds`: those that were set here, as a change sends them.
    `effective`: the threshold of every detector, null if it is off. `changed_by` is null if nobody set any."""

    thresholds: dict[str, float | None] = Field(validation_alias="values")
    effective: dict[str, float | None]
    detectors: list[DetectorOut]
    changed_by: Username | None
    changed_at: datetime | None

    @classmethod
    def from_thresholds(cls, row: FlagThresholds | None, effective: Mapping[str, float | None]) -> Self:
        """Return thresholds as JSON; `row` is None if none were set here."""
        none: dict[str, Any] = {"values": {}, "changed_by": None, "changed_at": None} if row is None else {}
        return cls.from_row(row, effective=effective, detectors=DETECTORS, **none)
