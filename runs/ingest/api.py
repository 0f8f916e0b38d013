"""API to push records: the lines that a run writes to its file, unchanged, or metrics as columns."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from ninja import P, QueryEx

from runs.http import ApiRequest, Key, Token, get_attempt, invalid, problem, register_handler, router
from runs.ingest import writer
from runs.ingest.columnar import BadColumns
from runs.ingest.record_body import read_body, read_columns, read_lines
from runs.ingest.record_times import time_problems
from runs.ingest.schemas import PushOut, RecordProblemOut
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
    "description": (
        "Metric records as columns: entry i of each belongs to the record seq + i; null if it does not have that key. "
        "All have the length of step."
    ),
    "additionalProperties": False,
    "required": ["seq", "t", "step", "values"],
    "properties": {
        "seq": {"type": "integer", "minimum": 0, "maximum": 2**63 - 1, "description": "of the first record"},
        "t": {"type": "array", "items": {"anyOf": CELL["anyOf"][:2]}, "description": "Unix seconds"},
        "step": {"type": "array", "items": {"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}},
        "axes": {**BY_KEY, "description": "progress of the run: tokens, samples, gpu_seconds"},
        "values": {**BY_KEY, "description": "measured values, by key"},
    },
}
BODY = {
    "application/jsonl": {"schema": {"type": "string"}, "example": EXAMPLE},
    COLUMNAR: {"schema": COLUMNS_SCHEMA, "example": COLUMNS},
}


@router.post(
    "/attempts/{key}/records",
    response=PushOut,
    auth=[Token("ingest")],
    tags=["records"],
    summary="Push records",
    exclude_none=True,
    openapi_extra={"requestBody": {"required": True, "content": BODY}},
)
def push(
    request: ApiRequest,
    key: Key,
    epoch: QueryEx[int, P(ge=0, le=2**31 - 1, description="counts the scheduler's restarts inside one attempt")] = 0,
) -> PushOut:
    """Store records of one attempt: one JSON object per line, `seq` counts from 0 in each epoch, at most 8 MiB, gzip is
    accepted. Metric records may be sent as columns instead, as application/json, which is faster for many records.
    Needs scope ingest, bound to this run.

    Safe to repeat: known records are skipped. A push that omits records is refused as a whole with 409, and `expected`
    is the seq to continue from. 422 if lines cannot be stored; then none is stored. A record whose `t` is no time in
    Unix seconds is stored without a time; `problems` names it, with the likely unit.
    """
    attempt = get_attempt(request.auth, key)
    body = read_body(request)
    pushed = read_columns(body) if request.content_type == COLUMNAR else read_lines(body)
    result = writer.push(attempt, epoch, pushed)
    problems = [RecordProblemOut(path=problem.path, message=problem.message) for problem in time_problems(pushed)]
    return PushOut(kept=result.new, next_seq=result.next_seq, problems=problems or None)


def _gap(_: HttpRequest, error: Gap) -> HttpResponse:
    return problem(409, str(error), expected=error.expected)


register_handler(Gap, _gap)
register_handler(BadColumns, invalid)
