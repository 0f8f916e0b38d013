"""Rubrics, as JSON."""

from __future__ import annotations

from ninja import Schema

from judging.models import Rubric


class RubricOut(Schema):
    """The words that judges are told: never changed, so that its digest says all of it."""

    criterion: str
    version: int
    question: str
    text: str
    scale: tuple[int, int]
    digest: str

    @classmethod
    def of(cls, row: Rubric) -> RubricOut:
        """One version."""
        return cls(
            criterion=row.criterion.slug, version=row.version, question=row.question, text=row.text,
            scale=(row.scale_low, row.scale_high), digest=row.digest,
        )  # fmt: skip


class RubricsOut(Schema):
    """A page of rubrics; `next` is the cursor of the next one."""

    items: list[RubricOut]
    next: int | None
