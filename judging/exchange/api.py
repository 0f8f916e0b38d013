"""API endpoints that import judgments from files into a tournament, and export a tournament's judgments as files."""

from __future__ import annotations

from typing import Annotated, Literal

from django.http import StreamingHttpResponse
from ninja import File, Form, UploadedFile
from ninja.errors import HttpError
from pydantic import Field

from judging.exchange import importer
from judging.exchange.exporter import (
    JSONL,
    ExportOptions,
    ExportRefused,
    assignment_transcript_lines,
    check_export,
    export_response,
    stream_file,
)
from judging.exchange.files import FORMATS_READ, MAX_UPLOAD_BYTES
from judging.exchange.importer import import_judgment_files
from judging.exchange.target import ImportTarget
from judging.http import get_assignment, get_tournament, own_tournament
from judging.judges import may_ask
from runs.http import ApiRequest, Input, Invalid, Output, Pk, RowId, needs, router
from workers.config import Problem

LINE = (
    '{"model_a": "ES-500", "model_b": "Alpaca-7B", "dimension": "helpfulness", "prompt_id": 0, "scores": [8, 4], '
    '"order_ab": ["ES-500", "Alpaca-7B"]}\n'
)
TEXT = {"schema": {"type": "string"}}


class NewJudgments(Input):
    """Target of the judgments.

    `into`: id of a tournament that you manage. Without it, the judgments go into your tournament of that `name` that
    was imported before, or into a new one. The default of `name` is the first file's name.
    """

    into: Pk | None = None
    name: Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")] = ""
    is_private: bool = False


class JudgmentsOfFile(Output):
    """Result of one file.

    `alone`: judgments that name no prompt; each counts as on a prompt of its own. `problems`: the first 100 of
    `not_read` rows, each with its line. `repeated`: the first 100 of `duplicates`, rows that only repeat an earlier row
    of the file and do not count as judgments.
    """

    name: str
    read: int
    made: int
    changed: int
    alone: int
    not_read: int
    problems: list[str]
    duplicates: int
    repeated: list[str]


class ImportOut(Output):
    """Result of an import. `tournament`: the tournament's id. `is_new`: whether the import created it."""

    said: str = Field(validation_alias="sentence")
    tournament: int | None
    is_new: bool
    files: list[JudgmentsOfFile]


LINES = {"responses": {200: {"content": {JSONL: TEXT, "text/csv": TEXT}}}}
TRANSCRIPT = {"responses": {200: {"content": {JSONL: TEXT}}}}


@router.post(
    "/judgments",
    response=ImportOut,
    auth=needs("launch"),
    tags=["judging"],
    summary="Import judgments",
    openapi_extra={"requestBody": {"content": {"multipart/form-data": {"example": {"files": LINE, "name": "Paper"}}}}},
)
def import_judgments(request: ApiRequest, files: File[list[UploadedFile]], where: Form[NewJudgments]) -> ImportOut:
    """Import judgments that were made elsewhere into a tournament, in the published format, FastChat's, MT-bench's or
    AlpacaEval's: JSON lines, or one JSON list, also compressed (.gz) and in UTF-16. The reply reports for each file
    which rows were understood and, with their lines, which were not. Judges from files are shown as imported, not
    calibrated here. Needs scope launch.

    Safe to repeat without an Idempotency-Key: the same file changes nothing, and a file that has grown adds its new
    rows. At most 64 MB in one request, and at most 64 MB of a compressed file after decompression. 422 if no file
    contains a judgment.
    """
    if sum(file.size or 0 for file in files) > MAX_UPLOAD_BYTES:
        raise HttpError(413, f"An upload may have at most {MAX_UPLOAD_BYTES} bytes: send fewer files")
    into = None if where.into is None else own_tournament(request.auth, where.into)
    owner = request.auth.person if into is None else into.owner
    target = ImportTarget(owner, where.name, into, where.is_private)
    uploaded_files = [importer.File(file.name or "", file, MAX_UPLOAD_BYTES) for file in files]  # type: ignore[arg-type]
    result = import_judgment_files(uploaded_files, target)
    if result.is_empty:
        problems = [Problem("files", text) for report in result.files for text in report.problems]
        raise Invalid(*problems, more=f"nothing was imported. {FORMATS_READ}")
    tournament = None if result.tournament is None else result.tournament.pk
    return ImportOut.from_row(result, tournament=tournament)


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
    """Export the verdicts that count on the boards, one per line. `every`: include verdicts that no board admits.
    Importing the file again gives the same boards, with the same hash. Voters are named "person 3"; `names`, for the
    tournament's owner only, gives their names. 409 if the published format cannot express a verdict, because it has no
    scores. While the tournament takes votes, only its owner and admins may export.
    """
    tournament = get_tournament(request.auth, pk)
    if names or tournament.closed_at is None:
        own_tournament(request.auth, pk)
    options = ExportOptions(form, every, names)
    try:
        check_export(tournament, options)
    except ExportRefused as error:
        raise HttpError(409, str(error)) from error
    return export_response(tournament, options)


@router.get(
    "/assignments/{pk}/transcript",
    auth=needs("read"),
    tags=["judging"],
    summary="Read a judge's transcript",
    openapi_extra=TRANSCRIPT,
)
def read_transcript(request: ApiRequest, pk: RowId) -> StreamingHttpResponse:
    """Export all requests to a judge and its replies, question by question, with tokens and prices. The transcript
    contains no key. You must own the judge or be an admin.
    """
    assignment = get_assignment(request.auth, pk)
    if not may_ask(request.auth.person, assignment.judge):
        raise HttpError(403, "Only the owner of a judge can read its transcript")
    return stream_file(assignment_transcript_lines(assignment), f"assignment-{assignment.pk}.jsonl", JSONL)
