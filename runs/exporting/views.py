"""The page that says what an export of a run holds, and the file."""

from __future__ import annotations

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from runs.exporting.attempt_folder import Parts
from runs.exporting.forms import read_parts
from runs.exporting.run_export import file_stem, run_archive, send_archive
from runs.exporting.size import export_size
from runs.http import SignedIn, visible_run


@require_safe
def run_export(request: SignedIn, uid: str) -> HttpResponse:
    """Render what an export of the run holds, with the sizes of its parts."""
    run = visible_run(request, uid)
    size = export_size([run])
    context = {
        "run": run,
        "size": size,
        "total": size.of(Parts()),
        "file_address": reverse("run-export-file", args=[run.uid]),
        "import_command": f"./manage.py import {file_stem(run)}.zip",
        "api_address": request.build_absolute_uri(reverse("api:export_run", args=[run.uid])),
        "file_name": f"{file_stem(run)}.zip",
    }
    return TemplateResponse(request, "exporting/run.html", context)


@require_safe
def run_export_file(request: SignedIn, uid: str) -> HttpResponseBase:
    """Send the export of a run as a zip while it is made."""
    run = visible_run(request, uid)
    return send_archive(run_archive(run, read_parts(request), request.user), file_stem(run), request.user.pk)
