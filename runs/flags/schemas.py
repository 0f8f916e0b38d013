"""JSON schemas of flags, their dismissals and thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import Field, Strict

from runs.flags.commands import MAX_REASON
from runs.flags.queries import FlagView, Pair
from runs.flags.sentences import reason_of, title_of
from runs.http import Input, Text, Word
from runs.models import Flag, FlagDismissal, FlagThresholds
from workers.analysis.detectors import DETECTORS, Detector

Threshold = Annotated[float, Strict()] | None


class FlagOut(Schema):
    """A sign that a training cheats: `detector` fired at the evaluation at `step`, for the first time at `first_step`.

    `value` is beyond `limit`, which follows from the detector's threshold and from `before`, the value of
    `compared_with`; both are empty if there was nothing to compare with. `n` is the number of responses, prompts or
    runs behind the value, null if unknown. `reason` states the same in words.
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
    reason: str

    @classmethod
    def from_flag(cls, flag: Flag, **more: Any) -> Any:
        """Return the flag as JSON; `more` holds the fields that a wider schema adds."""
        names = ("detector", "step", "first_step", "value", "limit", "before", "n", "compared_with")
        values = {name: getattr(flag, name) for name in names}
        return cls(**values, title=title_of(flag), reason=reason_of(flag), **more)


class DismissalOut(Schema):
    """A user's reason why a flag is no cheating. It applies while the run's data at `step` are the same and nobody
    undid it."""

    reason: str
    step: int
    dismissed_by: str
    dismissed_at: datetime
    undone_by: str | None
    undone_at: datetime | None

    @classmethod
    def from_dismissal(cls, dismissal: FlagDismissal) -> DismissalOut:
        """Return the dismissal as JSON."""
        return cls(
            reason=dismissal.reason, step=dismissal.step, dismissed_by=dismissal.dismissed_by.get_username(),
            dismissed_at=dismissal.dismissed_at, undone_at=dismissal.undone_at,
            undone_by=None if dismissal.undone_by is None else dismissal.undone_by.get_username(),
        )  # fmt: skip


class ExampleOut(Schema):
    """A response at the flagged step (`now`), and the response to the same prompt before training, null if unknown.

    `target` is the prompt's expected answer, empty if it has none.
    """

    prompt: str
    target: str
    before: str | None
    now: str

    @classmethod
    def from_pair(cls, pair: Pair) -> ExampleOut:
        """Return the pair as JSON."""
        prompt = pair.now.prompt
        before = None if pair.before is None else pair.before.text
        return cls(prompt=prompt.text, target=prompt.target, before=before, now=pair.now.text)


class FlagDetail(FlagOut):
    """A flag with its history. `is_current`: it fired at the newest evaluation. `is_open`: it is current and not
    dismissed. `dismissals`: the newest first. `examples`: at most three, the most telling first."""

    is_current: bool
    is_open: bool
    detected_at: datetime
    dismissals: list[DismissalOut]
    examples: list[ExampleOut]

    @classmethod
    def from_view(cls, view: FlagView) -> FlagDetail:
        """Return the flag as JSON."""
        detail: FlagDetail = cls.from_flag(
            view.flag,
            is_current=view.flag.is_current,
            is_open=view.is_open,
            detected_at=view.flag.detected_at,
            dismissals=[DismissalOut.from_dismissal(dismissal) for dismissal in view.dismissals],
            examples=[ExampleOut.from_pair(pair) for pair in view.pairs],
        )
        return detail


class FlagsOut(Schema):
    """All flags of a run, open ones first."""

    items: list[FlagDetail]


class NewDismissal(Input):
    """The reason why a flag is no cheating. It is stored with the flag."""

    reason: Annotated[Text, Field(min_length=1, max_length=MAX_REASON)]


class NewThresholds(Input):
    """Detector -> threshold, null to turn the detector off. Detectors that are left out keep the default, or the site's
    threshold in an experiment."""

    thresholds: Annotated[dict[Word, Threshold], Field(max_length=len(DETECTORS))]


class DetectorOut(Schema):
    """A detector: what it detects (`label`), its default threshold, from `low` to `high`, in `unit`, and the reason for
    the default with its sources."""

    name: str
    label: str
    threshold: float
    low: float
    high: float
    unit: str
    meaning: str
    reason: str
    sources: str

    @classmethod
    def from_detector(cls, detector: Detector) -> DetectorOut:
        """Return the detector as JSON."""
        return cls(**{name: getattr(detector, name) for name in cls.model_fields})


class ThresholdsOut(Schema):
    """The thresholds of the site or of an experiment. `thresholds`: those that were set here, as a change sends them.
    `effective`: the threshold of every detector, null if it is off. `changed_by` is null if nobody set any."""

    thresholds: dict[str, float | None]
    effective: dict[str, float | None]
    detectors: list[DetectorOut]
    changed_by: str | None
    changed_at: datetime | None

    @classmethod
    def from_row(cls, row: FlagThresholds | None, effective: Mapping[str, float | None]) -> ThresholdsOut:
        """Return thresholds as JSON; `row` is None if none were set here."""
        return cls(
            thresholds={} if row is None else row.values,
            effective=dict(effective),
            detectors=[DetectorOut.from_detector(detector) for detector in DETECTORS],
            changed_by=None if row is None else row.changed_by.get_username(),
            changed_at=None if row is None else row.changed_at,
        )
