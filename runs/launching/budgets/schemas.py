"""JSON schemas of costs and limits."""

from __future__ import annotations

from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field, model_validator

from runs.http import Input, Pk, Word
from runs.launching.budgets import Hours
from runs.launching.budgets.limits import Use


class ShareOut(Schema):
    """A user, experiment, sweep or cluster with its hours and number of runs. `id` is null for runs of no sweep."""

    id: int | None
    name: str
    hours: HoursOut
    runs: int


class CostsOut(Schema):
    """Hours by user, experiment, sweep or cluster, most expensive first."""

    by: str
    since: str
    items: list[ShareOut]
    total: HoursOut


class NewLimit(Input):
    """A limit to set: of `person`, a user name, or of `experiment`, an id."""

    person: Word | None = None
    experiment: Pk | None = None
    kind: Literal["gpu", "cpu"]
    hours: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    period: Literal["month", "all"] = "month"

    @model_validator(mode="after")
    def _fits(self) -> NewLimit:
        if (self.person is None) == (self.experiment is None):
            raise ValueError("give either person (a user name) or experiment (an id)")
        return self


class LimitOut(Schema):
    """A limit in hours, those used, those promised to runs that have not ended, and those left."""

    id: int
    person: str | None
    experiment: int | None
    kind: str
    period: str
    hours: float
    used: float
    promised: float
    left: float

    @classmethod
    def from_use(cls, use: Use) -> LimitOut:
        """Return the limit as JSON."""
        limit = use.limit
        return cls(
            id=limit.pk, person=limit.person.get_username() if limit.person else None, experiment=limit.experiment_id,
            kind=limit.kind, period=limit.period, hours=limit.hours, used=use.used, promised=use.promised,
            left=use.left,
        )  # fmt: skip


class LimitsOut(Schema):
    """Limits, the oldest first."""

    items: list[LimitOut]


class HoursOut(Schema):
    """GPU-hours, and core-hours of runs without a GPU."""

    gpu: float
    cpu: float

    @classmethod
    def from_hours(cls, hours: Hours) -> HoursOut:
        """Return the hours as JSON."""
        return cls(gpu=hours.gpu, cpu=hours.cpu)
