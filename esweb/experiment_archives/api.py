"""API of archives of experiments."""

from __future__ import annotations

from typing import Annotated

from django.http import StreamingHttpResponse
from ninja import File, Form, UploadedFile
from ninja.errors import HttpError
from pydantic import Field

from esweb.experiment_archives.export import archive_stem, experiment_archive, experiment_size
from esweb.experiment_archives.importer import Destination
from esweb.experiment_archives.views import import_upload
from runs.exporting import ZIP, ExportSizeOut, Parts, send_archive
from runs.http import ApiRequest, Input, Invalid, Output, RowId, get_experiment, needs, router
from runs.importing import ImportedOut, upload_problem
from workers.config import Problem

ARCHIVE = {"responses": {200: {"content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}}}}
FORM = {
    "requestBody": {
        "content": {"multipart/form-data": {"example": {"file": "esweb-experiment-1.zip", "name": "Paper"}}}
    }
}


class NewExperimentArchive(Input):
    """Destination of an archive. `name`: a new experiment, or one of yours; default: the name in the archive.
    `is_private`: a new one is visible to you alone."""

    name: Annotated[str, Field(max_length=200, pattern=r"^[^\x00]*$")] = ""
    is_private: bool = False


class ImportedArchiveOut(Output):
    """Result of an import. `parts`: a line for each sweep, view, label set and tournament; `problems`: what could not
    be imported, with the reason; `runs`: what became of the runs."""

    experiment: int
    name: str
    is_new: bool
    parts: list[str]
    problems: list[str]
    runs: ImportedOut


@router.get(
    "/experiments/{pk}/export",
    auth=needs("read"),
    tags=["experiments"],
    summary="Export an experiment",
    openapi_extra=ARCHIVE,
)
def export_experiment(
    request: ApiRequest, pk: RowId, logs: bool = True, checkpoints: bool = False
) -> StreamingHttpResponse:
    """Export an experiment as a zip: its runs as `GET /runs/{uid}/export` gives each of them, its note and tags,
    sweeps, saved views, labels and tournaments, as far as you may see them. Another esweb imports the file with
    `POST /api/v1/experiments/import`. `logs`: with log.txt and replay.jsonl. `checkpoints`: with all checkpoints on
    this machine. 503 while another export is being sent to you."""
    experiment = get_experiment(request.auth, pk)
    members = experiment_archive(experiment, Parts(logs, checkpoints), request.auth.person)
    return send_archive(members, archive_stem(experiment), request.auth.person.pk)


@router.get(
    "/experiments/{pk}/export/size",
    response=ExportSizeOut,
    auth=needs("read"),
    tags=["experiments"],
    summary="Size of an experiment's export",
)
def size_experiment_export(request: ApiRequest, pk: RowId) -> ExportSizeOut:
    """Return the number of runs of an experiment's export and the sizes of its parts in bytes, before compression."""
    count, size = experiment_size(get_experiment(request.auth, pk), request.auth.person)
    return ExportSizeOut.from_row(size, runs=count)


@router.post(
    "/experiments/import",
    response=ImportedArchiveOut,
    auth=needs("launch"),
    tags=["experiments"],
    summary="Import an experiment",
    openapi_extra=FORM,
)
def import_experiment_archive(
    request: ApiRequest, file: File[UploadedFile], where: Form[NewExperimentArchive]
) -> ImportedArchiveOut:
    """Import the archive of an experiment, from this or another esweb: its runs, sweeps, views, labels and tournaments.
    They are yours. 422 if the file is no such archive. Needs scope launch.

    Safe to repeat without an Idempotency-Key: runs, labels and judgments that were imported before are known again. At
    most 256 MB; `./manage.py import_experiment` takes larger ones.
    """
    if problem := upload_problem([file]):
        raise HttpError(413, problem)
    result, problem = import_upload(file, Destination(request.auth.person, where.name, where.is_private))
    if result is None:
        raise Invalid(Problem("file", problem))
    return ImportedArchiveOut(
        experiment=result.experiment.pk,
        name=result.experiment.name,
        is_new=result.is_new,
        parts=result.parts,
        problems=result.problems,
        runs=ImportedOut.from_row(result.imported),
    )
