"""Rubrics over the API: the words by which anybody judges here."""

from __future__ import annotations

from judging.api.shapes import RubricOut, RubricsOut
from judging.models import Criterion, Rubric
from judging.rubrics import make_standard
from runs.api.auth import ApiRequest, needs
from runs.api.paging import page
from runs.api.routes import router
from runs.api.seeing import Id, Limit


@router.get("/rubrics", response=RubricsOut, auth=needs("read"), tags=["judging"], summary="List rubrics")
def list_rubrics(request: ApiRequest, cursor: Id = None, limit: Limit = 50) -> RubricsOut:
    """Every version of every criterion that you may see, newest first. A rubric is never changed; new words are a new
    version."""
    make_standard()
    rows = Rubric.objects.filter(criterion__in=Criterion.objects.visible_to(request.auth.person))
    items, following = page(rows.select_related("criterion"), cursor, limit)
    return RubricsOut(items=[RubricOut.of(one) for one in items], next=following)
