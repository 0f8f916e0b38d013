"""Judgments in and out by hand: files dropped on a page become a tournament, and a tournament's become files."""

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
from judging.access import may_hold, may_look_after, may_unblind
from judging.boards import board_of
from judging.exchange.exporter import (
    FORMS,
    JSONL,
    CannotWrite,
    ExportOptions,
    check,
    name_of,
    send,
    sent,
    setup,
    transcript_lines,
    without_scores,
)
from judging.exchange.files import FORMATS_READ, MB, UPLOAD_AT_MOST
from judging.exchange.importer import File, ImportResult, bring_in
from judging.exchange.target import ImportTarget
from judging.http import visible_tournament
from judging.models import Tournament
from runs.http import SignedIn, UnknownChoice, page_of, selected

FILES_AT_MOST = 20
FILES_A_PAGE = 50
OFFERED = 100
TRANSCRIPT, SETUP = "transcript", "setup"


class ImportForm(forms.Form):
    """Select the tournament that the judgments go to. The template holds the field of the files, next to this form."""

    name = forms.CharField(
        required=False,
        max_length=200,
        label=gettext_lazy("Tournament"),
        help_text=gettext_lazy("A new name, or one that you imported before; the first file's where none is given."),
        widget=forms.TextInput(attrs={"list": "my-imported", "autocomplete": "off"}),
    )
    is_private = forms.BooleanField(required=False, label=gettext_lazy("Only I may see it"))


@require_http_methods(["GET", "HEAD", "POST"])
def judgments_import(request: SignedIn) -> HttpResponse:
    """The form; a POST imports, and tells what became of each file."""
    if not may_hold(request.user):
        raise PermissionDenied
    form = ImportForm(
        request.POST if request.method == "POST" else None, initial={"name": request.GET.get("name", "")[:200]}
    )
    uploads = request.FILES.getlist("files")
    problem = too_much(uploads) if request.method == "POST" else ""
    brought = None
    if request.method == "POST" and form.is_valid() and not problem:
        place = ImportTarget(request.user, form.cleaned_data["name"], is_private=form.cleaned_data["is_private"])
        brought = brought_by(uploads, place)
    context = {
        "form": form, "problem": problem, "brought": brought, "mine": _mine(request), "formats": FORMATS_READ,
        "upload_at_most": UPLOAD_AT_MOST, "uploads_at_most": FILES_AT_MOST,
    }  # fmt: skip
    is_refused = problem or form.errors or (brought and brought.is_empty)
    return TemplateResponse(request, "judging/exchange/import.html", context, status=400 if is_refused else 200)


@require_safe
def tournament_files(request: SignedIn, pk: int) -> HttpResponse:
    """Show the files that were read into a tournament, and the formats that it can be written in."""
    found = visible_tournament(request, pk)
    context = {
        "tournament": found, "own": may_look_after(request.user, found),
        "files": page_of(request, found.judgment_files.order_by("-pk"), FILES_A_PAGE),
        "boards": [(name, board_of(found, rubric)) for rubric, name in models.rubrics_of(found).items()],
        "without_scores": without_scores(found), "has_calls": found.assignments.exists(),
    }  # fmt: skip
    return TemplateResponse(request, "judging/exchange/files.html", context)


@require_safe
def tournament_file(request: SignedIn, pk: int, form: str) -> HttpResponseBase:
    """A tournament's judgments as a file, line by line. `all=1`: those too that no board lets in; `names=1`: people
    by their names, for its owner alone."""
    found = visible_tournament(request, pk)
    if form not in (*FORMS, TRANSCRIPT, SETUP):
        raise UnknownChoice(f"form must be one of {', '.join((*FORMS, TRANSCRIPT, SETUP))}, not {form!r}")
    own = may_look_after(request.user, found)
    with_all, with_names = (selected(request, name, ("1",), "") == "1" for name in ("all", "names"))
    if form == SETUP:
        headers = {"Content-Disposition": f'attachment; filename="{name_of(found, form, "json")}"'}
        said = setup(found, unblinded=may_unblind(request.user, found))
        return JsonResponse(said, headers=headers, json_dumps_params={"ensure_ascii": False, "indent": 1})
    # Whoever still votes shall not know what others said.
    if (with_names or form == TRANSCRIPT or found.closed_at is None) and not own:
        raise PermissionDenied
    if form == TRANSCRIPT:
        return send(transcript_lines(found), name_of(found, form, "jsonl"), JSONL)
    asked = ExportOptions(form, with_all, with_names)
    try:
        check(found, asked)
    except CannotWrite as error:
        raise BadRequest(str(error)) from error
    return sent(found, asked)


def too_much(uploads: list[UploadedFile[Any]]) -> str:
    """Why these are not taken; empty where they are."""
    if not uploads:
        return gettext("Choose at least one file.")
    if len(uploads) > FILES_AT_MOST or sum(one.size or 0 for one in uploads) > UPLOAD_AT_MOST:
        said = gettext("At most %(files)s files and %(most)s MB at once: take fewer, or ./manage.py judgments import.")
        return said % {"files": FILES_AT_MOST, "most": UPLOAD_AT_MOST // MB}
    return ""


def brought_by(uploads: list[UploadedFile[Any]], place: ImportTarget) -> ImportResult:
    """Import uploaded files, and return what became of each."""
    return bring_in([File(one.name or "", one, UPLOAD_AT_MOST) for one in uploads], place)  # type: ignore[arg-type]


def _mine(request: SignedIn) -> list[str]:
    """Names to offer."""
    imported = Tournament.objects.filter(owner=request.user, deleted_at=None, judgment_files__isnull=False)
    return list(imported.order_by("name").values_list("name", flat=True).distinct()[:OFFERED])
