"""What the API says and takes of judges and of their assignments, as JSON."""

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


def amount(of: Decimal | int) -> str:
    """Of money, without noughts that say nothing."""
    return f"{Decimal(of).normalize():f}"


class NewAssignment(Input):
    """A judge to put to work by these criteria, by all where none is named. `asks_twice`: 5 questions in 100 a second
    time, to see whether it says the same. Without a `cap` nothing is asked, and the answer says what it would cost."""

    judge: Pk
    criteria: Annotated[list[Word], Field(max_length=20)] = Field(default_factory=list)
    both_orders: bool = True
    asks_twice: bool = True
    cap: Cap | None = None


class NewCalibration(Input):
    """The gold set to hold a judge against, by these criteria; by all that the set tells of where none is named."""

    gold_set: Pk
    criteria: Annotated[list[Word], Field(max_length=20)] = Field(default_factory=list)
    both_orders: bool = True
    cap: Cap


class EstimateOut(Schema):
    """What it would cost: `likely`, and `at_most` where every answer is as long as it may be."""

    calls: int
    likely: str
    at_most: str

    @classmethod
    def of(cls, found: Estimate) -> EstimateOut:
        """In the judge's currency."""
        return cls(calls=found.calls, likely=amount(found.likely.amount), at_most=amount(found.at_most))


class AssignmentOut(Schema):
    """A judge at work. Ends that are no verdicts are counted apart, and none is a tie. Amounts are in the judge's
    currency."""

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
    def of(cls, row: Assignment, standing: AssignmentStatus) -> AssignmentOut:
        """As it stands."""
        counted = ("planned", "done", "refused", "failed", "unparsed", "left")
        counts = {name: getattr(standing, name) for name in counted}
        return cls(
            id=row.pk, judge=row.judge.pk, judge_name=row.judge.name, state=row.state, reason=row.reason,
            both_orders=row.both_orders, asks_twice=row.asks_twice, spent=amount(row.spent), cap=amount(row.cap),
            **counts,
        )  # fmt: skip


class ChangedAssignment(Input):
    """`again` goes on, and asks anew what gave no verdict. A `cap` goes with go-on and again."""

    do: Literal["pause", "cancel", "go-on", "again"]
    cap: Cap | None = None


class JudgeOut(Schema):
    """A model that judges, or the rules that come with the site. `in_boards`: rubrics by which its newest calibration
    passes. No key is shown."""

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
    def of(cls, row: Judge, rubrics: list[str]) -> JudgeOut:
        """As anybody sees it who sees it."""
        return cls(
            id=row.pk, name=row.name, kind=row.kind, model=row.model, base_url=row.base_url,
            owner=row.owner.get_username() if row.owner else None, is_private=row.is_private, digest=row.digest,
            price_in=amount(row.price_in), price_out=amount(row.price_out), in_boards=rubrics,
        )  # fmt: skip


class CalibrationOut(Schema):
    """How a judge did on gold by one rubric. `measured`: accuracy and κ with intervals, swap consistency, the share of
    the first place, what was missing; `complaints` keep it from boards."""

    rubric: str
    gold_set: str
    passes: bool
    measured: dict[str, Any]
    at: datetime

    @classmethod
    def of(cls, row: Calibration) -> CalibrationOut:
        """As it was measured."""
        return cls(
            rubric=str(row.rubric), gold_set=row.gold_set.name, passes=row.passes, measured=row.measured, at=row.at
        )


class JudgeDetail(JudgeOut):
    """With its newest calibrations, and what it is put to that you may see."""

    calibrations: list[CalibrationOut]
    assignments: list[AssignmentOut]


class JudgesOut(Schema):
    """A page of judges; `next` is the cursor of the next one."""

    items: list[JudgeOut]
    next: int | None
