"""The answers that are asked for as a file: a line an answer, as JSON lines or CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from runs.http import SignedIn, selected
from runs.models import Response
from runs.responses.viewer.annotations import picked
from runs.responses.viewer.categories import categories
from runs.responses.viewer.cells import Asking, Cell, rows_of
from runs.responses.viewer.columns import Columns, columns_of
from runs.responses.viewer.cursor import ResponseCursor
from runs.responses.viewer.queries import ResponsePage, Slow, find
from runs.responses.viewer.response_query import ResponseQuery, asked_of
from runs.responses.viewer.views import check_all, scorers_of
from workers.csv_cells import inert

ROWS_AT_ONCE = 200
FORMS = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
FIELDS = (
    "row", "prompt", "categories", "sample", "column", "run", "step", "text", "reward", "cost", "quadrant", "words",
    "tokens", "truncated", "leak", "refusal", "others_with_the_same", "partial", "url",
)  # fmt: skip


@require_safe
def viewer_export(request: SignedIn) -> HttpResponse:
    """All rows that the address asks for, in its order. What is asked wrongly is refused: a file cannot say so."""
    form = selected(request, "form", FORMS, "jsonl")
    columns = columns_of(request.user, request.GET.getlist("run"), request.GET.get("pin", ""))
    asked = asked_of(request.GET, columns.letters, scorers_of(columns), picked(columns), categories(columns))
    check_all(columns, asked)
    if not columns.all:
        raise BadRequest("run must name at least one run that has kept answers")
    said = _objects(request, columns, asked)
    lines = _as_csv(said) if form == "csv" else (f"{json.dumps(one, ensure_ascii=False)}\n" for one in said)
    headers = {"Content-Disposition": f'attachment; filename="answers.{form}"'}
    return HttpResponse("".join(lines), content_type=FORMS[form], headers=headers)


def _objects(request: SignedIn, columns: Columns, asked: ResponseQuery) -> Iterator[dict[str, Any]]:
    place, is_more = None, True
    while is_more:
        found = _found(columns, asked, place)
        rows = rows_of(found.rows, columns, asked, differing=False)
        given = ((row, cell, cell.response) for row in rows for cell in row.cells)
        yield from (_object(row, cell, answer, request) for row, cell, answer in given if answer is not None)
        is_more, place = found.has_after, found.rows[-1].place if found.rows else None


def _found(columns: Columns, asked: ResponseQuery, place: ResponseCursor | None) -> ResponsePage:
    try:
        return find(columns, asked, ROWS_AT_ONCE, place)
    except Slow as slow:
        raise BadRequest(f"what is asked cannot be answered: {slow}") from slow


def _object(row: Asking, cell: Cell, answer: Response, request: SignedIn) -> dict[str, Any]:
    return {
        "row": row.prompt.name, "prompt": row.prompt.text, "categories": row.prompt.categories, "sample": row.sample,
        "column": cell.column.letter,
        "run": cell.column.run.uid, "step": cell.column.step, "text": None if answer.words is None else answer.text,
        "reward": cell.reward, "cost": cell.cost, "quadrant": cell.quadrant or None, "words": answer.words,
        "tokens": answer.tokens or None, "truncated": answer.is_truncated, "leak": answer.is_leaking,
        "refusal": answer.is_refusal, "others_with_the_same": cell.others,
        "partial": cell.column.missing or None, "url": request.build_absolute_uri(cell.address),
    }  # fmt: skip


class _Line:
    """A file that keeps nothing: what is written to it is handed on."""

    def write(self, text: str) -> str:
        return text


def _as_csv(objects: Iterator[dict[str, Any]]) -> Iterator[str]:
    writer = csv.writer(_Line())
    yield writer.writerow(FIELDS)
    for one in objects:
        said = one | {"categories": "; ".join(one["categories"])}
        yield writer.writerow([inert(said[name]) for name in FIELDS])
