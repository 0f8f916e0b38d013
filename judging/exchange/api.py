"""API endpoints that import judgments from files into a tournament, and export a tournament's judgments as files."""

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
    """Target of the judgments.

    `into`: id of a tournament that you manage. Without it, the judgments go into your tournament of that `name` that
    was imported before, or into a new one. The default of `name` is the first file's name.
    """

    into: Pk | None = None
    name: Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")] = ""
    is_private: bool = False


class JudgmentsOfFile(Schema):
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


class BroughtOut(Schema):
    """Result of an import. `tournament`: the tournament's id. `is_new`: whether the import created it."""

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
    """Import judgments that were made elsewhere into a tournament, in the published format or FastChat's: JSON lines,
    or one JSON list, also compressed (.gz) and in UTF-16. The reply reports for each file which rows were understood
    and, with their lines, which were not. Judges from files are shown as imported, not calibrated here. Needs scope
    launch.

    Safe to repeat without an Idempotency-Key: the same file changes nothing, and a file that has grown adds its new
    rows. At most 64 MB in one request, and at most 64 MB of a compressed file after decompression. 422 if no file
    contains a judgment.
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
    """Export the verdicts that count on the boards, one per line. `every`: include verdicts that no board admits.
    Importing the file again gives the same boards, with the same hash. Voters are named "person 3"; `names`, for the
    tournament's owner only, gives their names. 409 if the published format cannot express a verdict, because it has no
    scores. While the tournament takes votes, only its owner and admins may export.
    """
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
    """Export all requests to a judge and its replies, question by question, with tokens and prices. The transcript
    contains no key. You must own the judge or be an admin.
    """
    found = the_assignment(request.auth, pk)
    if not may_ask(request.auth.person, found.judge):
        raise HttpError(403, "Only who owns a judge reads what it was sent")
    return send(transcript_of(found), f"assignment-{found.pk}.jsonl", JSONL)
