"""Views that import uploaded files of judgments into a tournament, and export a tournament's judgments."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import BadRequest, PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from judging import models
from judging.access import may_create, may_manage, may_unblind
from judging.boards import newest_snapshot
from judging.exchange.exporter import (
    FORMS,
    JSONL,
    ExportOptions,
    ExportRefused,
    check_export,
    count_without_scores,
    export_response,
    file_name,
    stream_file,
    tournament_setup,
    transcript_lines,
)
from judging.exchange.files import FORMATS_READ, MAX_UPLOAD_BYTES, MB
from judging.exchange.importer import File, ImportResult, import_judgment_files
from judging.exchange.target import ImportTarget
from judging.http import visible_tournament
from judging.models import Tournament
from runs.http import SignedIn, UnknownChoice, page_of, require_choice

MAX_FILES = 20
FILES_PER_PAGE = 50
MAX_SUGGESTIONS = 100
TRANSCRIPT, SETUP = "transcript", "setup"


class ImportForm(forms.Form):
    """Select the tournament that the judgments go to. The template holds the field of the files, next to this form."""

    name = forms.CharField(
        required=False,
        max_length=200,
        label=gettext_lazy("Tournament"),
        help_text=gettext_lazy("A new name, or one that you imported before. Default: the name of the first file."),
        widget=forms.TextInput(attrs={"list": "my-imported", "autocomplete": "off"}),
    )
    is_private = forms.BooleanField(required=False, label=gettext_lazy("Only I may see it"))


@require_http_methods(["GET", "HEAD", "POST"])
def judgments_import(request: SignedIn) -> HttpResponse:
    """Render the form. A POST imports the files and reports the result of each."""
    if not may_create(request.user):
        raise PermissionDenied
    form = ImportForm(
        request.POST if request.method == "POST" else None, initial={"name": request.GET.get("name", "")[:200]}
    )
    uploads = request.FILES.getlist("files")
    problem = upload_problem(uploads) if request.method == "POST" else ""
    result = None
    if request.method == "POST" and form.is_valid() and not problem:
        target = ImportTarget(request.user, form.cleaned_data["name"], is_private=form.cleaned_data["is_private"])
        result = import_uploads(uploads, target)
    context = {
        "form": form, "problem": problem, "result": result, "imported_names": _imported_names(request),
        "formats": FORMATS_READ, "max_upload_bytes": MAX_UPLOAD_BYTES, "max_files": MAX_FILES,
    }  # fmt: skip
    is_refused = problem or form.errors or (result and result.is_empty)
    return TemplateResponse(request, "judging/exchange/import.html", context, status=400 if is_refused else 200)


@require_safe
def tournament_files(request: SignedIn, pk: int) -> HttpResponse:
    """Show the files that were read into a tournament, and the formats that it can be written in."""
    tournament = visible_tournament(request, pk)
    context = {
        "tournament": tournament, "may_manage": may_manage(request.user, tournament),
        "files": page_of(request, tournament.judgment_files.order_by("-pk"), FILES_PER_PAGE),
        "boards": [(name, newest_snapshot(tournament, row)) for row, name in models.rubrics_of(tournament).items()],
        "without_scores": count_without_scores(tournament), "has_calls": tournament.assignments.exists(),
    }  # fmt: skip
    return TemplateResponse(request, "judging/exchange/files.html", context)


@require_safe
def tournament_file(request: SignedIn, pk: int, form: str) -> HttpResponseBase:
    """Stream a tournament's judgments as a file.

    `all=1` includes judgments that no board admits. `names=1`, for the owner only, gives voters' names.
    """
    tournament = visible_tournament(request, pk)
    if form not in (*FORMS, TRANSCRIPT, SETUP):
        raise UnknownChoice(f"form must be one of {', '.join((*FORMS, TRANSCRIPT, SETUP))}, not {form!r}")
    is_manager = may_manage(request.user, tournament)
    includes_all, by_name = (require_choice(request, name, ("1",), "") == "1" for name in ("all", "names"))
    if form == SETUP:
        headers = {"Content-Disposition": f'attachment; filename="{file_name(tournament, form, "json")}"'}
        content = tournament_setup(tournament, unblinded=may_unblind(request.user, tournament))
        return JsonResponse(content, headers=headers, json_dumps_params={"ensure_ascii": False, "indent": 1})
    # A voter of an open tournament must not learn others' verdicts.
    if (by_name or form == TRANSCRIPT or tournament.closed_at is None) and not is_manager:
        raise PermissionDenied
    if form == TRANSCRIPT:
        return stream_file(transcript_lines(tournament), file_name(tournament, form, "jsonl"), JSONL)
    options = ExportOptions(form, includes_all, by_name)
    try:
        check_export(tournament, options)
    except ExportRefused as error:
        raise BadRequest(str(error)) from error
    return export_response(tournament, options)


def upload_problem(uploads: list[UploadedFile[Any]]) -> str:
    """Return why the uploads are refused, empty if they are accepted."""
    if not uploads:
        return gettext("Choose at least one file.")
    if len(uploads) > MAX_FILES or sum(upload.size or 0 for upload in uploads) > MAX_UPLOAD_BYTES:
        message = gettext(
            "At most %(files)s files and %(most)s MB per upload: choose fewer, or use ./manage.py judgments import."
        )
        return message % {"files": MAX_FILES, "most": MAX_UPLOAD_BYTES // MB}
    return ""


def import_uploads(uploads: list[UploadedFile[Any]], target: ImportTarget) -> ImportResult:
    """Import uploaded files, and return the result of each."""
    return import_judgment_files([File(upload.name or "", upload, MAX_UPLOAD_BYTES) for upload in uploads], target)  # type: ignore[arg-type]


def _imported_names(request: SignedIn) -> list[str]:
    """Return the names of the user's imported tournaments, as suggestions."""
    imported = Tournament.objects.filter(owner=request.user, deleted_at=None, judgment_files__isnull=False)
    return list(imported.order_by("name").values_list("name", flat=True).distinct()[:MAX_SUGGESTIONS])
