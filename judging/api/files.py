"""Judgments in and out over the API: files become a tournament, and a tournament's become files."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from django.http import StreamingHttpResponse
from ninja import File, Form, UploadedFile
from ninja.errors import HttpError

from judging import exchange
from judging.api.seeing import own_tournament, the_assignment, the_tournament
from judging.api.shapes import BroughtOut, JudgmentsOfFile, NewJudgments
from judging.exchange import Asked, CannotWrite, Place
from judging.judges import may_ask
from runs.api.auth import ApiRequest, needs
from runs.api.problems import Invalid
from runs.api.routes import router
from runs.api.seeing import RowId
from workers.config import Problem

LINE = (
    '{"model_a": "ES-500", "model_b": "Alpaca-7B", "dimension": "helpfulness", "prompt_id": 0, "scores": [8, 4], '
    '"order_ab": ["ES-500", "Alpaca-7B"]}\n'
)
TEXT = {"schema": {"type": "string"}}
LINES = {"responses": {200: {"content": {exchange.JSONL: TEXT, "text/csv": TEXT}}}}
TRANSCRIPT = {"responses": {200: {"content": {exchange.JSONL: TEXT}}}}


@router.post(
    "/judgments",
    response=BroughtOut,
    auth=needs("launch"),
    tags=["judging"],
    summary="Import judgments",
    openapi_extra={"requestBody": {"content": {"multipart/form-data": {"example": {"files": LINE, "name": "Paper"}}}}},
)
def import_judgments(request: ApiRequest, files: File[list[UploadedFile]], where: Form[NewJudgments]) -> BroughtOut:
    """Makes a tournament of judgments that were made elsewhere, in the published format or FastChat's: JSON lines, or
    one JSON list, also packed (.gz) and in UTF-16. The answer says of each file what was understood and, with its line,
    what was not. Judges of files are shown as imported, not calibrated here. Needs scope launch.

    Safe to repeat without an Idempotency-Key: the same file changes nothing, one that has gone on adds what is new. At
    most 64 MB at once, and of a packed file unpacked. 422 where no file holds a judgment.
    """
    if sum(one.size or 0 for one in files) > exchange.UPLOAD_AT_MOST:
        raise HttpError(413, f"At most {exchange.UPLOAD_AT_MOST} bytes are taken at once: send fewer files")
    into = None if where.into is None else own_tournament(request.auth, where.into)
    owner = request.auth.person if into is None else into.owner
    place = Place(owner, where.name, into, where.is_private)
    uploads = [exchange.File(one.name or "", one, exchange.UPLOAD_AT_MOST) for one in files]  # type: ignore[arg-type]
    brought = exchange.bring_in(uploads, place)
    if brought.is_empty:
        said = [Problem("files", words) for one in brought.files for words in one.problems]
        raise Invalid(*said, more=f"nothing was imported. {exchange.FORMATS_READ}")
    return BroughtOut(
        said=brought.sentence, tournament=None if brought.tournament is None else brought.tournament.pk,
        is_new=brought.is_new, files=[JudgmentsOfFile(**asdict(one)) for one in brought.files],
    )  # fmt: skip


@router.get(
    "/tournaments/{pk}/judgments",
    auth=needs("read"),
    tags=["judging"],
    summary="Export judgments",
    openapi_extra=LINES,
)
def export_judgments(
    request: ApiRequest,
    pk: RowId,
    form: Literal["published", "fastchat", "csv"] = "fastchat",
    every: bool = False,
    names: bool = False,
) -> StreamingHttpResponse:
    """The verdicts that make the boards, as lines; `every`: those too that no board lets in. What is read again gives
    the same boards, by hash. People are "person 3"; `names` is for the tournament's owner. The published format cannot
    say a vote without scores: 409. Only for its owner while it takes votes."""
    found = the_tournament(request.auth, pk)
    if names or found.closed_at is None:
        own_tournament(request.auth, pk)
    asked = Asked(form, every, names)
    try:
        exchange.check(found, asked)
    except CannotWrite as error:
        raise HttpError(409, str(error)) from error
    return exchange.sent(found, asked)


@router.get(
    "/assignments/{pk}/transcript",
    auth=needs("read"),
    tags=["judging"],
    summary="Read a judge's transcript",
    openapi_extra=TRANSCRIPT,
)
def read_transcript(request: ApiRequest, pk: RowId) -> StreamingHttpResponse:
    """What a judge was sent and what it said, question by question, with tokens and prices. No key is in it. Needs
    that the judge is yours."""
    found = the_assignment(request.auth, pk)
    if not may_ask(request.auth.person, found.judge):
        raise HttpError(403, "Only who owns a judge reads what it was sent")
    return exchange.send(exchange.transcript_of(found), f"assignment-{found.pk}.jsonl", exchange.JSONL)
