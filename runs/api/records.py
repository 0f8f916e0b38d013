"""Pushing records: the same lines that a run writes to its file, sent as they are, or metrics as columns."""

from __future__ import annotations

import zlib

from django.http import HttpRequest
from ninja import P, QueryEx
from ninja.errors import HttpError

from runs import ingest
from runs.api.auth import ApiRequest, Token
from runs.api.problems import Invalid
from runs.api.routes import router
from runs.api.seeing import Key, the_attempt
from runs.api.shapes import KeptOut
from workers.config import Problem
from workers.records import BadLine, Line, unpack

MAX_BYTES = 8 * 1024 * 1024
MAX_PROBLEMS = 20
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
    body = _body(request)
    pushed = ingest.read_columns(body) if request.content_type == COLUMNAR else read_lines(body)
    kept = ingest.push(attempt, epoch, pushed)
    return KeptOut(kept=kept.new, next_seq=kept.next_seq)


def _body(request: HttpRequest) -> bytes:
    """The body, inflated where it is gzip, never more than the limit in memory."""
    data = request.read(MAX_BYTES + 1)
    encoding = request.headers.get("Content-Encoding", "identity").lower()
    if encoding not in ("identity", "gzip"):
        raise HttpError(415, f"Content-Encoding must be gzip or identity, not {encoding[:40]!r}")
    if encoding == "gzip" and len(data) <= MAX_BYTES:
        data = inflated(data)
    if len(data) > MAX_BYTES:
        raise HttpError(413, f"A push holds at most {MAX_BYTES} bytes, inflated: send fewer lines at a time")
    return data


def inflated(data: bytes) -> bytes:
    """What gzip holds, one byte more than the limit at most. Raises HttpError where it is none."""
    stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        out = stream.decompress(data, MAX_BYTES + 1)
    except zlib.error as error:
        raise HttpError(400, f"The body says that it is gzip and is not: {error}") from error
    if not stream.eof and len(out) <= MAX_BYTES:
        raise HttpError(400, "The gzip body is cut off")
    return out


def read_lines(data: bytes) -> list[Line]:
    """The records of a body. Raises Invalid naming each line that is none."""
    lines: list[Line] = []
    problems: list[Problem] = []
    for number, raw in enumerate(data.splitlines(), 1):
        try:
            line = unpack(raw)
            why = ingest.refusal(line)
        except BadLine as error:
            why = str(error)
        else:
            lines.append(line)
        if why:
            problems.append(Problem(f"line {number}", why))
    if problems:
        raise Invalid(*problems[:MAX_PROBLEMS])
    return lines
