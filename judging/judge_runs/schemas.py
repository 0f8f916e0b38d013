"""Schemas of judges and their assignments, as the API sends and takes them."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import Field

from judging.judge_runs.status import AssignmentStatus, Estimate
from judging.models import Assignment, Calibration, Judge
from runs.http import Input, Pk, Word

Cap = Annotated[Decimal, Field(ge=0, lt=10**8, max_digits=14, decimal_places=6)]


def amount(value: Decimal | int) -> str:
    """Format an amount of money without trailing zeros."""
    return f"{Decimal(value).normalize():f}"


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


class EstimateOut(Schema):
    """Estimated cost of judging a tournament.

    `likely` is the likely cost; `at_most` is the cost if every response of the judge has the maximum length.
    """

    calls: int
    likely: str
    at_most: str

    @classmethod
    def from_estimate(cls, estimate: Estimate) -> EstimateOut:
        """Build the reply from an estimate. Amounts are in the judge's currency."""
        return cls(calls=estimate.calls, likely=amount(estimate.likely.amount), at_most=amount(estimate.at_most))


class AssignmentOut(Schema):
    """A judge's assignment with its progress.

    Outcomes that are not verdicts (refused, failed, unparsed) are counted separately, and none counts as a tie. Amounts
    are in the judge's currency.
    """

    id: int
    judge: int
    judge_name: str
    state: str
    reason: str
    both_orders: bool
    asks_twice: bool
    planned: int
    done: int
    refused: int
    failed: int
    unparsed: int
    left: int
    spent: str
    cap: str

    @classmethod
    def from_assignment(cls, row: Assignment, status: AssignmentStatus) -> AssignmentOut:
        """Build the reply from an assignment and its present status."""
        counted = ("planned", "done", "refused", "failed", "unparsed", "left")
        counts = {name: getattr(status, name) for name in counted}
        return cls(
            id=row.pk, judge=row.judge.pk, judge_name=row.judge.name, state=row.state, reason=row.reason,
            both_orders=row.both_orders, asks_twice=row.asks_twice, spent=amount(row.spent), cap=amount(row.cap),
            **counts,
        )  # fmt: skip


class ChangedAssignment(Input):
    """A change to an assignment.

    `again` resumes it and repeats the questions that gave no verdict. A `cap` goes with go-on and again.
    """

    do: Literal["pause", "cancel", "go-on", "again"]
    cap: Cap | None = None


class JudgeOut(Schema):
    """A model that judges, or the judge by rules that comes with esweb.

    `in_boards`: rubrics by which its newest calibration passes. The reply contains no API key.
    """

    id: int
    name: str
    kind: str
    model: str
    base_url: str
    owner: str | None
    is_private: bool
    digest: str
    price_in: str
    price_out: str
    in_boards: list[str]

    @classmethod
    def from_judge(cls, row: Judge, rubrics: list[str]) -> JudgeOut:
        """Build the reply, which is the same for everybody who may see the judge."""
        return cls(
            id=row.pk, name=row.name, kind=row.kind, model=row.model, base_url=row.base_url,
            owner=row.owner.get_username() if row.owner else None, is_private=row.is_private, digest=row.digest,
            price_in=amount(row.price_in), price_out=amount(row.price_out), in_boards=rubrics,
        )  # fmt: skip


class CalibrationOut(Schema):
    """Result of a judge's calibration on a gold set by one rubric.

    `measured`: accuracy and κ with intervals, swap consistency, the share of decided verdicts for the response shown
    first (`slot_share`), and the number of missing verdicts. Any `complaints` in it exclude the judge's verdicts from
    boards.
    """

    rubric: str
    gold_set: str
    passes: bool
    measured: dict[str, Any]
    at: datetime

    @classmethod
    def from_calibration(cls, row: Calibration) -> CalibrationOut:
        """Build the reply from a stored calibration."""
        return cls(
            rubric=str(row.rubric), gold_set=row.gold_set.name, passes=row.passes, measured=row.measured, at=row.at
        )


class JudgeDetail(JudgeOut):
    """A judge with its newest calibrations, and with those of its assignments that you may see."""

    calibrations: list[CalibrationOut]
    assignments: list[AssignmentOut]


class JudgesOut(Schema):
    """A page of judges; `next` is the cursor of the next one."""

    items: list[JudgeOut]
    next: int | None
