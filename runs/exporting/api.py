"""API of exports of runs."""

from __future__ import annotations

from django.http import StreamingHttpResponse

from runs.exporting.attempt_folder import Parts
from runs.exporting.run_export import ZIP, file_stem, run_archive, send_archive
from runs.exporting.schemas import ExportSizeOut
from runs.exporting.size import export_size
from runs.http import ApiRequest, Uid, get_run, needs, router

ARCHIVE = {"responses": {200: {"content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}}}}


@router.get("/runs/{uid}/export", auth=needs("read"), tags=["runs"], summary="Export a run", openapi_extra=ARCHIVE)
def export_run(request: ApiRequest, uid: Uid, logs: bool = True, checkpoints: bool = False) -> StreamingHttpResponse:
    """Export a run as a zip: a folder for each attempt with its config, all its records, its end and its events, a
    README that explains every field, and code that loads them with pandas. Another esweb imports the file with
    `POST /api/v1/imports`. `logs`: with log.txt and replay.jsonl. `checkpoints`: with all checkpoints on this machine.

    The zip is made while it is sent, so its length is not known before; `export/size` has the sizes of its parts.
    Values that are named like secrets are replaced. 503 while another export is being sent to you.
    """
    run = get_run(request.auth, uid)
    members = run_archive(run, Parts(logs, checkpoints), request.auth.person)
    return send_archive(members, file_stem(run), request.auth.person.pk)


@router.get(
    "/runs/{uid}/export/size", response=ExportSizeOut, auth=needs("read"), tags=["runs"], summary="Size of an export"
)
def size_export(request: ApiRequest, uid: Uid) -> ExportSizeOut:
    """Return the sizes of the parts of a run's export in bytes, before compression."""
    return ExportSizeOut.from_row(export_size([get_run(request.auth, uid)]), runs=1)
