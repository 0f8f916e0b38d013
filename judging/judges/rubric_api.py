"""Rubrics over the API: the words by which anybody judges here."""

from __future__ import annotations

from ninja import Schema

from judging.judges.rubrics import make_standard
from judging.models import Criterion, Rubric
from runs.http import ApiRequest, Id, Limit, needs, page, router


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


@router.get("/rubrics", response=RubricsOut, auth=needs("read"), tags=["judging"], summary="List rubrics")
def list_rubrics(request: ApiRequest, cursor: Id = None, limit: Limit = 50) -> RubricsOut:
    """Every version of every criterion that you may see, newest first. A rubric is never changed; new words are a new
    version."""
    make_standard()
    rows = Rubric.objects.filter(criterion__in=Criterion.objects.visible_to(request.auth.person))
    items, following = page(rows.select_related("criterion"), cursor, limit)
    return RubricsOut(items=[RubricOut.of(one) for one in items], next=following)
