"""JSON schemas of costs and limits."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from ninja import Schema
from pydantic import Field, model_validator

from runs.http import Input, Output, Pk, Username, Word
from runs.launching.budgets.limits import Use


class ShareOut(Output):
    """A user, experiment, sweep or cluster with its hours and number of runs. `id` is null for runs of no sweep."""

    id: int | None = Field(validation_alias="key")
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


class LimitOut(Output):
    """A limit in hours, those used, those promised to runs that have not ended, and those left."""

    id: int
    person: Username | None
    experiment: int | None = Field(validation_alias="experiment_id")
    kind: str
    period: str
    hours: float
    used: float
    promised: float
    left: float

    @classmethod
    def from_use(cls, use: Use) -> Self:
        """Return the limit as JSON."""
        return cls.from_row(use.limit, used=use.used, promised=use.promised, left=use.left)


class LimitsOut(Schema):
    """Limits, the oldest first."""

    items: list[LimitOut]


class HoursOut(Output):
    """GPU-hours, and core-hours of runs without a GPU."""

    gpu: float
    cpu: float
