"""API of rubrics, the texts by which judges judge, and of gold sets, pairs with known verdicts."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256

from django.db.models import Count
from ninja import File, Form, Schema, UploadedFile
from ninja.errors import HttpError

from judging.access import may_create
from judging.judges.gold import MAX_BYTES, CannotRead, save_gold_set
from judging.judges.rubrics import create_standard_rubrics
from judging.models import Criterion, GoldSet, Rubric
from runs.http import ApiRequest, Id, Input, Invalid, Limit, Name, Output, RowText, Username, needs, paginate, router
from workers.config import Problem

LINE = '{"prompt": "Why?", "response_a": "As …", "response_b": "No.", "expected": {"helpfulness": "a"}}\n'


class GoldSetOut(Output):
    """A set of pairs of responses with known verdicts by some criteria."""

    id: int
    name: str
    owner: Username
    is_private: bool
    pairs: int
    sha256: str
    created_at: datetime


class GoldSetsOut(Schema):
    """A page of gold sets; `next` is the cursor of the next one."""

    items: list[GoldSetOut]
    next: int | None


class NewGoldSet(Input):
    """Name of a new gold set, and whether only you may see it."""

    name: Name
    is_private: bool = False


@router.get("/gold-sets", response=GoldSetsOut, auth=needs("read"), tags=["judging"], summary="List gold sets")
def list_gold_sets(request: ApiRequest, cursor: Id = None, limit: Limit = 50) -> GoldSetsOut:
    """List the gold sets that you may see, newest first: pairs of responses with known verdicts."""
    rows = GoldSet.objects.visible_to(request.auth.person).select_related("owner").annotate(size=Count("pairs"))
    items, following = paginate(rows, cursor, limit)
    return GoldSetsOut(items=[GoldSetOut.from_row(row, pairs=row.size) for row in items], next=following)  # type: ignore[attr-defined]


@router.post(
    "/gold-sets",
    response={200: GoldSetOut, 201: GoldSetOut},
    auth=needs("launch"),
    tags=["judging"],
    summary="Upload a gold set",
    openapi_extra={"requestBody": {"content": {"multipart/form-data": {"example": {"file": LINE, "name": "Ours"}}}}},
)
def make_gold_set(request: ApiRequest, file: File[UploadedFile], said: Form[NewGoldSet]) -> tuple[int, GoldSetOut]:
    """Create a gold set from a file of pairs.

    The file is JSON lines or one JSON list, in esweb's own format or that of PKU-SafeRLHF or LLMBar. If a line does not
    fit, the error names it and nothing is saved. The file has at most 50 MB. Needs scope launch. Safe to repeat: a file
    of yours with the same name and bytes is read once.
    """
    if not may_create(request.auth.person):
        raise HttpError(403, "Your role is viewer, which cannot create gold sets. Ask an admin for the role member")
    create_standard_rubrics()
    data = file.read(MAX_BYTES + 1)
    existing = GoldSet.objects.filter(
        owner=request.auth.person, name=said.name, sha256=sha256(data).hexdigest()
    ).first()
    if existing is not None:
        return 200, GoldSetOut.from_row(existing, pairs=existing.pairs.count())
    try:
        gold_set = save_gold_set(request.auth.person, said.name, data, is_private=said.is_private)
    except CannotRead as error:
        raise Invalid(Problem("file", str(error))) from error
    return 201, GoldSetOut.from_row(gold_set, pairs=gold_set.pairs.count())


class RubricOut(Output):
    """A rubric: the text that judges receive. It never changes, so its digest identifies all of it."""

    criterion: RowText
    version: int
    question: str
    text: str
    scale: tuple[int, int]
    digest: str


class RubricsOut(Schema):
    """A page of rubrics; `next` is the cursor of the next one."""

    items: list[RubricOut]
    next: int | None


@router.get("/rubrics", response=RubricsOut, auth=needs("read"), tags=["judging"], summary="List rubrics")
def list_rubrics(request: ApiRequest, cursor: Id = None, limit: Limit = 50) -> RubricsOut:
    """List every version of every criterion that you may see, newest first.

    A rubric never changes; a new text is a new version.
    """
    create_standard_rubrics()
    rows = Rubric.objects.filter(criterion__in=Criterion.objects.visible_to(request.auth.person))
    items, following = paginate(rows.select_related("criterion"), cursor, limit)
    rubrics = [RubricOut.from_row(row, scale=(row.scale_low, row.scale_high)) for row in items]
    return RubricsOut(items=rubrics, next=following)
