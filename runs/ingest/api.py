"""Pushing records: the same lines that a run writes to its file, sent as they are, or metrics as columns."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import P, QueryEx

from runs.http import ApiRequest, Key, Token, handle, invalid, problem, router, the_attempt
from runs.ingest import writer
from runs.ingest.columnar import BadColumns
from runs.ingest.record_body import read_body, read_columns, read_lines
from runs.ingest.schemas import KeptOut
from runs.ingest.writer import Gap

EXAMPLE = '{"seq":0,"t":1700000000.5,"kind":"metric","step":1,"values":{"reward/mean":-4.2},"axes":{"tokens":512}}\n'
COLUMNAR = "application/json"
COLUMNS = {
    "seq": 0,
    "t": [1700000000.5, 1700000001.5],
    "step": [1, 2],
    "axes": {"tokens": [512, 1024]},
    "values": {"reward/mean": [-4.2, "NaN"], "kl": [None, 0.01]},
}
CELL = {"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}, {"type": "null"}]}
BY_KEY = {
    "type": "object",
    "propertyNames": {"minLength": 1, "maxLength": 250},
    "additionalProperties": {"type": "array", "items": CELL},
}
COLUMNS_SCHEMA = {
    "type": "object",
    "description": "Metric records as columns: entry i of each belongs to the record seq + i; null says that it does "
    "not hold that key. All are as long as step.",
    "additionalProperties": False,
    "required": ["seq", "t", "step", "values"],
    "properties": {
        "seq": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1, "description": "of the first record"},
        "t": {"type": "array", "items": {"type": "number"}, "description": "Unix seconds"},
        "step": {"type": "array", "items": {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}},
        "axes": {**BY_KEY, "description": "how far the run had come: tokens, samples, gpu_seconds"},
        "values": {**BY_KEY, "description": "what was measured, by key"},
    },
}
BODY = {
    "application/jsonl": {"schema": {"type": "string"}, "example": EXAMPLE},
    COLUMNAR: {"schema": COLUMNS_SCHEMA, "example": COLUMNS},
}


@router.post(
    "/attempts/{key}/records",
    response=KeptOut,
    auth=[Token("ingest")],
    tags=["records"],
    summary="Push records",
    openapi_extra={"requestBody": {"required": True, "content": BODY}},
)
def push(
    request: ApiRequest,
    key: Key,
    epoch: QueryEx[int, P(ge=0, le=2**31 - 1, description="counts the scheduler's restarts inside one attempt")] = 0,
) -> KeptOut:
    """Takes records of one attempt: a JSON object a line, `seq` counting from 0 in each epoch, at most 8 MiB, gzip
    welcome. Metric records may come as columns instead, as application/json: the quicker way for many at a time. Needs
    scope ingest, of this very run.

    Safe to repeat: what is known already is passed over. A push that leaves records out is refused whole with 409, and
    `expected` says which seq to go on from. Lines that cannot be kept are answered with 422, and none is kept.
    """
    attempt = the_attempt(request.auth, key)
    body = read_body(request)
    pushed = read_columns(body) if request.content_type == COLUMNAR else read_lines(body)
    kept = writer.push(attempt, epoch, pushed)
    return KeptOut(kept=kept.new, next_seq=kept.next_seq)


def _gap(_: HttpRequest, error: Gap) -> HttpResponse:
    return problem(409, str(error), expected=error.expected)


handle(Gap, _gap)
handle(BadColumns, invalid)
