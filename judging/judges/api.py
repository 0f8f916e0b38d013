"""Rubrics and gold sets over the API: the words by which judges judge, and pairs that people have judged."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256

from django.db.models import Count
from ninja import File, Form, Schema, UploadedFile
from ninja.errors import HttpError

from judging.access import may_hold
from judging.judges.gold import BYTES_AT_MOST, CannotRead, keep
from judging.judges.rubrics import make_standard
from judging.models import Criterion, GoldSet, Rubric
from runs.http import ApiRequest, Id, Input, Invalid, Limit, Name, needs, page, router
from workers.config import Problem

LINE = '{"prompt": "Why?", "response_a": "As …", "response_b": "No.", "expected": {"helpfulness": "a"}}\n'


class GoldSetOut(Schema):
    """Pairs of answers whose better one is known from people, by some criteria."""

    id: int
    name: str
    owner: str
    is_private: bool
    pairs: int
    sha256: str
    created_at: datetime

    @classmethod
    def of(cls, row: GoldSet, pairs: int) -> GoldSetOut:
        """As anybody sees it who sees it."""
        return cls(
            id=row.pk, name=row.name, owner=row.owner.get_username(), is_private=row.is_private, pairs=pairs,
            sha256=row.sha256, created_at=row.created_at,
        )  # fmt: skip


class GoldSetsOut(Schema):
    """A page of gold sets; `next` is the cursor of the next one."""

    items: list[GoldSetOut]
    next: int | None


class NewGoldSet(Input):
    """What a file of pairs is to be called."""

    name: Name
    is_private: bool = False


@router.get("/gold-sets", response=GoldSetsOut, auth=needs("read"), tags=["judging"], summary="List gold sets")
def list_gold_sets(request: ApiRequest, cursor: Id = None, limit: Limit = 50) -> GoldSetsOut:
    """Gold sets that you may see, newest first: pairs of answers whose better one people have told."""
    rows = GoldSet.objects.visible_to(request.auth.person).select_related("owner").annotate(size=Count("pairs"))
    items, following = page(rows, cursor, limit)
    return GoldSetsOut(items=[GoldSetOut.of(one, one.size) for one in items], next=following)  # type: ignore[attr-defined]


@router.post(
    "/gold-sets",
    response={200: GoldSetOut, 201: GoldSetOut},
    auth=needs("launch"),
    tags=["judging"],
    summary="Read a gold set",
    openapi_extra={"requestBody": {"content": {"multipart/form-data": {"example": {"file": LINE, "name": "Ours"}}}}},
)
def make_gold_set(request: ApiRequest, file: File[UploadedFile], said: Form[NewGoldSet]) -> tuple[int, GoldSetOut]:
    """Reads a file of pairs: JSON lines, ours or those of PKU-SafeRLHF. A line that does not fit is named, and nothing
    is kept. At most 50 MB. Needs scope launch. Safe to repeat: your file of the same name and bytes is read once."""
    if not may_hold(request.auth.person):
        raise HttpError(403, "Your role is viewer, which keeps nothing: ask an admin for the role member")
    make_standard()
    data = file.read(BYTES_AT_MOST + 1)
    there = GoldSet.objects.filter(owner=request.auth.person, name=said.name, sha256=sha256(data).hexdigest()).first()
    if there is not None:
        return 200, GoldSetOut.of(there, there.pairs.count())
    try:
        made = keep(request.auth.person, said.name, data, is_private=said.is_private)
    except CannotRead as error:
        raise Invalid(Problem("file", str(error))) from error
    return 201, GoldSetOut.of(made, made.pairs.count())


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
