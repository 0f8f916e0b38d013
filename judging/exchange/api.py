"""Judgments in and out over the API: files become a tournament, and a tournament's become files."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from django.http import StreamingHttpResponse
from ninja import File, Form, Schema, UploadedFile
from ninja.errors import HttpError
from pydantic import Field

from judging.exchange import importer
from judging.exchange.exporter import JSONL, CannotWrite, ExportOptions, check, send, sent, transcript_of
from judging.exchange.files import FORMATS_READ, UPLOAD_AT_MOST
from judging.exchange.importer import bring_in
from judging.exchange.target import ImportTarget
from judging.http import own_tournament, the_assignment, the_tournament
from judging.judges import may_ask
from runs.http import ApiRequest, Input, Invalid, Pk, RowId, needs, router
from workers.config import Problem

LINE = (
    '{"model_a": "ES-500", "model_b": "Alpaca-7B", "dimension": "helpfulness", "prompt_id": 0, "scores": [8, 4], '
    '"order_ab": ["ES-500", "Alpaca-7B"]}\n'
)
TEXT = {"schema": {"type": "string"}}


class NewJudgments(Input):
    """Where the judgments go: `into`, a tournament that you look after, by its id; else one of that name of yours that
    was imported before, or a new one. The first file's name where none is said."""

    into: Pk | None = None
    name: Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")] = ""
    is_private: bool = False


class JudgmentsOfFile(Schema):
    """What became of a file. `alone`: judgments that name no prompt, each its own. `problems`: the first 100 of
    `not_read` rows, each with its line. `repeated`: the first 100 of `duplicates`, rows that only repeat an earlier one
    of the file and are no judgment more."""

    name: str
    read: int
    made: int
    changed: int
    alone: int
    not_read: int
    problems: list[str]
    duplicates: int
    repeated: list[str]


class BroughtOut(Schema):
    """What an import did. `tournament` is null where no file held a judgment; `is_new`: it was made for them."""

    said: str
    tournament: int | None
    is_new: bool
    files: list[JudgmentsOfFile]


LINES = {"responses": {200: {"content": {JSONL: TEXT, "text/csv": TEXT}}}}
TRANSCRIPT = {"responses": {200: {"content": {JSONL: TEXT}}}}


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
    if sum(one.size or 0 for one in files) > UPLOAD_AT_MOST:
        raise HttpError(413, f"At most {UPLOAD_AT_MOST} bytes are taken at once: send fewer files")
    into = None if where.into is None else own_tournament(request.auth, where.into)
    owner = request.auth.person if into is None else into.owner
    place = ImportTarget(owner, where.name, into, where.is_private)
    uploads = [importer.File(one.name or "", one, UPLOAD_AT_MOST) for one in files]  # type: ignore[arg-type]
    brought = bring_in(uploads, place)
    if brought.is_empty:
        said = [Problem("files", words) for one in brought.files for words in one.problems]
        raise Invalid(*said, more=f"nothing was imported. {FORMATS_READ}")
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
    asked = ExportOptions(form, every, names)
    try:
        check(found, asked)
    except CannotWrite as error:
        raise HttpError(409, str(error)) from error
    return sent(found, asked)


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
    return send(transcript_of(found), f"assignment-{found.pk}.jsonl", JSONL)
