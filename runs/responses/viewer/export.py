"""Export of the selected responses as JSON lines or CSV, with a line for each response."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

from django.core.exceptions import BadRequest
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from runs.http import SignedIn, require_choice
from runs.models import Response
from runs.responses.viewer.annotations import picked
from runs.responses.viewer.categories import categories
from runs.responses.viewer.cells import Cell, PromptRow, rows_of
from runs.responses.viewer.columns import Columns, columns_of
from runs.responses.viewer.cursor import ResponseCursor
from runs.responses.viewer.queries import QueryFailed, ResponsePage, find
from runs.responses.viewer.response_query import ResponseQuery, parse_response_query
from runs.responses.viewer.views import check_all, scorers_of
from workers.csv_cells import csv_lines

BATCH_SIZE = 200
FORMS = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
FIELDS = (
    "row", "prompt", "categories", "sample", "column", "run", "step", "text", "target", "correctness",
    "reward", "cost", "quadrant", "words",
    "tokens", "truncated", "leak", "refusal", "others_with_the_same", "partial", "url",
)  # fmt: skip


@require_safe
def viewer_export(request: SignedIn) -> HttpResponse:
    """Return all rows that the address selects, in its order. Refuse invalid parameters: a file cannot report them."""
    form = require_choice(request, "form", FORMS, "jsonl")
    columns = columns_of(request.user, request.GET.getlist("run"), request.GET.get("pin", ""))
    query = parse_response_query(
        request.GET, columns.letters, scorers_of(columns), picked(columns), categories(columns)
    )
    check_all(columns, query)
    if not columns.all:
        raise BadRequest("run must name at least one run with saved responses")
    objects = _objects(request, columns, query)
    lines = _as_csv(objects) if form == "csv" else (f"{json.dumps(obj, ensure_ascii=False)}\n" for obj in objects)
    headers = {"Content-Disposition": f'attachment; filename="answers.{form}"'}
    return HttpResponse("".join(lines), content_type=FORMS[form], headers=headers)


def _objects(request: SignedIn, columns: Columns, query: ResponseQuery) -> Iterator[dict[str, Any]]:
    cursor, is_more = None, True
    while is_more:
        page = _find_page(columns, query, cursor)
        rows = rows_of(page.rows, columns, query, differing=False)
        cells = ((row, cell, cell.response) for row in rows for cell in row.cells)
        yield from (_object(row, cell, answer, request) for row, cell, answer in cells if answer is not None)
        is_more, cursor = page.has_after, page.rows[-1].cursor if page.rows else None


def _find_page(columns: Columns, query: ResponseQuery, cursor: ResponseCursor | None) -> ResponsePage:
    try:
        return find(columns, query, BATCH_SIZE, cursor)
    except QueryFailed as error:
        raise BadRequest(f"the query cannot be answered: {error}") from error


def _object(row: PromptRow, cell: Cell, answer: Response, request: SignedIn) -> dict[str, Any]:
    return {
        "row": row.prompt.name, "prompt": row.prompt.text, "categories": row.prompt.categories, "sample": row.sample,
        "column": cell.column.letter,
        "run": cell.column.run.uid, "step": cell.column.step, "text": None if answer.words is None else answer.text,
        "target": row.prompt.target or None, "correctness": cell.correctness or None,
        "reward": cell.reward, "cost": cell.cost, "quadrant": cell.quadrant or None, "words": answer.words,
        "tokens": answer.tokens or None, "truncated": answer.is_truncated, "leak": answer.is_leaking,
        "refusal": answer.is_refusal, "others_with_the_same": cell.others,
        "partial": cell.column.missing or None, "url": request.build_absolute_uri(cell.address),
    }  # fmt: skip


def _as_csv(objects: Iterator[dict[str, Any]]) -> Iterator[str]:
    values = (obj | {"categories": "; ".join(obj["categories"])} for obj in objects)
    return csv_lines(chain([FIELDS], ([row[name] for name in FIELDS] for row in values)))
