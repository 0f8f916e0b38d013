"""Importing by hand: files dropped on a page become runs; what was understood and what was not; and the way back."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import changeable, may_change, may_make
from runs.experiments.trash import delete_experiment, delete_runs, restore_runs
from runs.http import SignedIn
from runs.importing.detect_format import NOTHING_READ
from runs.importing.readers.reports import KIND
from runs.importing.run_import import Imported, bring_in
from runs.importing.store import ImportTarget
from runs.importing.uploads import limits, of_uploads, too_much
from runs.models import Experiment, Run
from runs.models.trash import DAYS_IN_BIN

USUAL = "Imported"
MINE_OFFERED = 100


class ImportForm(forms.Form):
    """Ask for the experiment that the imported runs go to.

    The files are sent next to this form: their names include folders, which a form field does not know.
    """

    experiment = forms.CharField(
        max_length=200,
        initial=USUAL,
        label=gettext_lazy("Experiment"),
        help_text=gettext_lazy("One of yours by its name, or a new one."),
        widget=forms.TextInput(attrs={"list": "my-experiments", "autocomplete": "off"}),
    )


@require_http_methods(["GET", "HEAD", "POST"])
def import_files(request: SignedIn) -> HttpResponse:
    """The form; a POST imports, and tells what became of each file."""
    if not may_make(request.user):
        raise PermissionDenied
    form = ImportForm(request.POST or None, initial={"experiment": request.GET.get("experiment", USUAL)[:200]})
    uploads = request.FILES.getlist("files")
    problem = too_much(uploads) if request.method == "POST" else ""
    imported = None
    if request.method == "POST" and form.is_valid() and not problem:
        imported = _imported(request, form.cleaned_data["experiment"], uploads)
        problem = NOTHING_READ if imported.read_nothing else ""
    context = {"form": form, "problem": problem, "imported": imported, "mine": _mine(request), **limits()}
    return TemplateResponse(request, "importing/import.html", context, status=400 if problem or form.errors else 200)


@require_POST
def import_undo(request: SignedIn) -> HttpResponse:
    """Put the runs that an import has made into the bin, and the experiment if nothing else is in it.

    Means over seeds that gave way to these runs come back.
    """
    if not may_make(request.user):
        raise PermissionDenied
    uids = request.POST.get("runs", "").split()
    whole = _made_with_them(request, request.POST.get("experiment", ""), uids)
    if whole is not None:
        delete_experiment(whole, request.user)
        said = gettext("Put %(name)s with its imported runs into the bin: it can be restored for %(days)s days.") % {
            "name": whole.name,
            "days": DAYS_IN_BIN,
        }
    else:
        runs = Run.objects.visible_to(request.user).filter(uid__in=uids, source__isnull=False)
        count = len(delete_runs(changeable(request.user, runs), request.user))
        means = Run.objects.permitted_to(request.user).filter(source__kind=KIND)
        restore_runs(changeable(request.user, means.filter(uid__in=request.POST.get("replaced", "").split())))
        said = ngettext(
            "Put %(n)s imported run into the bin: it can be restored for %(days)s days.",
            "Put %(n)s imported runs into the bin: it can be restored for %(days)s days.",
            count,
        ) % {"n": count, "days": DAYS_IN_BIN}
    messages.success(request, said)
    return redirect("import")


def _imported(request: SignedIn, name: str, uploads: list[UploadedFile[Any]]) -> Imported:
    mine = Experiment.objects.filter(owner=request.user, name=name, deleted_at__isnull=True).order_by("pk")
    with ExitStack() as keep:
        files = of_uploads(uploads, request.POST.getlist("path"), keep)
        return bring_in(files, ImportTarget(request.user, name, name == USUAL, mine.first()))


def _mine(request: SignedIn) -> list[str]:
    """Names to offer."""
    current = Experiment.objects.current().filter(owner=request.user).order_by("-pk")
    return list(dict.fromkeys(current.values_list("name", flat=True)[:MINE_OFFERED]))


def _made_with_them(request: SignedIn, typed: str, uids: list[str]) -> Experiment | None:
    """The experiment that the import has made, where the person may delete it and nothing else is in it."""
    if not (typed.isascii() and typed.isdecimal() and len(typed) <= 18):
        return None
    found = Experiment.objects.visible_to(request.user).filter(pk=int(typed)).first()
    if found is None or not may_change(request.user, found):
        return None
    others = found.runs.filter(deleted_at__isnull=True).exclude(uid__in=uids, source__isnull=False)
    return None if others.exists() else found
