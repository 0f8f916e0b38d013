"""Schemas of judges and their assignments, as the API sends and takes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import BeforeValidator, Field

from judging.judge_runs.status import AssignmentStatus, get_status, get_statuses
from judging.models import Assignment
from runs.http import Input, Output, Pk, RowText, Username, Word

Cap = Annotated[Decimal, Field(ge=0, lt=10**8, max_digits=14, decimal_places=6)]
Amount = Annotated[str, BeforeValidator(lambda value: f"{Decimal(value).normalize():f}")]
"""An amount of money without trailing zeros."""


class NewAssignment(Input):
    """A judge to start on a tournament, by these criteria, or by all if none is named.

    `asks_twice`: send 5 in 100 pairs a second time, to see whether the judge gives the same verdict. Without a `cap` no
    question is sent, and the reply estimates the cost.
    """

    judge: Pk
    criteria: Annotated[list[Word], Field(max_length=20)] = Field(default_factory=list)
    both_orders: bool = True
    asks_twice: bool = True
    cap: Cap | None = None


class NewCalibration(Input):
    """A gold set to calibrate a judge on, by these criteria.

    If none is named, all criteria count for which the set has expected verdicts.
    """

    gold_set: Pk
    criteria: Annotated[list[Word], Field(max_length=20)] = Field(default_factory=list)
    both_orders: bool = True
    cap: Cap


class EstimateOut(Output):
    """Estimated cost of judging a tournament.

    `likely` is the likely cost; `at_most` is the cost if every response of the judge has the maximum length.
    """

    calls: int
    likely: Amount = Field(validation_alias="likely.amount")
    at_most: Amount


class MissingReasonOut(Output):
    """A reason why questions have no verdict.

    `state` is refused, failed or unparsed; `count` is the number of these questions.
    """

    state: str
    reason: str
    count: int


class AssignmentOut(Output):
    """A judge's assignment with its progress.

    Outcomes that are not verdicts (refused, failed, unparsed) are counted separately, and none counts as a tie.
    `missing_reasons` are the five most frequent reasons for them. Amounts are in the judge's currency.
    """

    id: int
    judge: int = Field(validation_alias="judge_id")
    judge_name: str = Field(validation_alias="judge.name")
    state: str
    reason: str
    both_orders: bool
    asks_twice: bool
    planned: int
    done: int
    refused: int
    failed: int
    unparsed: int
    missing_reasons: list[MissingReasonOut]
    left: int
    spent: Amount
    cap: Amount

    @classmethod
    def from_assignment(cls, row: Assignment, status: AssignmentStatus | None = None) -> AssignmentOut:
        """Build the reply from an assignment and its present status, which is read unless it is given."""
        status = status or get_status(row)
        counts = {name: getattr(status, name) for name in ("done", "refused", "failed", "unparsed", "left")}
        reasons = [MissingReasonOut.from_row(reason) for reason in status.missing_reasons]
        return cls.from_row(row, **counts, missing_reasons=reasons)

    @classmethod
    def from_assignments(cls, rows: Sequence[Assignment]) -> list[AssignmentOut]:
        """Build the replies from assignments, with one query for the status of all."""
        return list(map(cls.from_assignment, rows, get_statuses(rows)))


class ChangedAssignment(Input):
    """A change to an assignment.

    `again` resumes it and repeats the questions that gave no verdict. A `cap` goes with go-on and again.
    """

    do: Literal["pause", "cancel", "go-on", "again"]
    cap: Cap | None = None


class JudgeOut(Output):
    """A model that judges, or the judge by rules that comes with esweb.

    `in_boards`: rubrics by which its newest calibration passes. The reply contains no API key.
    """

    id: int
    name: str
    kind: str
    model: str
    base_url: str
    owner: Username | None
    is_private: bool
    digest: str
    price_in: Amount
    price_out: Amount
    in_boards: list[str]


class CalibrationOut(Output):
    """Result of a judge's calibration on a gold set by one rubric.

    `measured`: accuracy and κ with intervals, swap consistency, the share of decided verdicts for the response shown
    first (`slot_share`), and the number of missing verdicts. Any `complaints` in it exclude the judge's verdicts from
    boards.
    """

    rubric: RowText
    gold_set: RowText
    passes: bool
    measured: dict[str, Any]
    at: datetime


class JudgeDetail(JudgeOut):
    """A judge with its newest calibrations, and with those of its assignments that you may see."""

    calibrations: list[CalibrationOut]
    assignments: list[AssignmentOut]


class JudgesOut(Schema):
    """A page of judges; `next` is the cursor of the next one."""

    items: list[JudgeOut]
    next: int | None
