"""Judges, and how they did on gold, as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ninja import Schema

from judging.api.shapes.assignments import AssignmentOut, amount
from judging.models import Calibration, Judge


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
