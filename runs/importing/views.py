"""Pages of an import: upload files that become runs, display the result, and undo it."""

from __future__ import annotations

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

from runs.access import changeable, may_change, may_make, may_manage_clusters
from runs.experiments.trash import delete_experiment, delete_runs, restore_runs
from runs.http import SignedIn, whole_number
from runs.importing.readers.reports import KIND
from runs.importing.run_import import ImportResult
from runs.importing.source_kinds import NOTHING_READ
from runs.importing.store import ImportTarget
from runs.importing.uploads import import_uploads, upload_limits, upload_problem
from runs.models import Experiment, Run
from runs.models.trash import DAYS_IN_BIN

DEFAULT_NAME = "Imported"
MAX_SUGGESTIONS = 100


class ImportForm(forms.Form):
    """Form that selects the experiment of the imported runs.

    The files are sent in addition to this form: their names include folders, which a form field does not support.
    """

    experiment = forms.CharField(
        max_length=200,
        initial=DEFAULT_NAME,
        label=gettext_lazy("Experiment"),
        help_text=gettext_lazy("The name of one of your experiments, or of a new one."),
        widget=forms.TextInput(attrs={"list": "my-experiments", "autocomplete": "off"}),
    )


@require_http_methods(["GET", "HEAD", "POST"])
def import_files(request: SignedIn) -> HttpResponse:
    """Render the form; a POST imports the files and renders the result of each file."""
    if not may_make(request.user):
        raise PermissionDenied
    form = ImportForm(request.POST or None, initial={"experiment": request.GET.get("experiment", DEFAULT_NAME)[:200]})
    uploads = request.FILES.getlist("files")
    problem = upload_problem(uploads) if request.method == "POST" else ""
    imported = None
    if request.method == "POST" and form.is_valid() and not problem:
        imported = _import_uploads(request, form.cleaned_data["experiment"], uploads)
        problem = NOTHING_READ if imported.is_empty else ""
    context = {
        "form": form,
        "problem": problem,
        "imported": imported,
        "mine": _experiment_names(request),
        "may_read_server": may_manage_clusters(request.user),
        **upload_limits(),
    }
    return TemplateResponse(request, "importing/import.html", context, status=400 if problem or form.errors else 200)


@require_POST
def import_undo(request: SignedIn) -> HttpResponse:
    """Move the runs that an import created to the trash, and the experiment if it holds nothing else.

    Means over seeds that these runs replaced are restored.
    """
    if not may_make(request.user):
        raise PermissionDenied
    uids = request.POST.get("runs", "").split()
    new_experiment = _created_experiment(request, request.POST.get("experiment", ""), uids)
    if new_experiment is not None:
        delete_experiment(new_experiment, request.user)
        message = gettext(
            "Moved %(name)s with its imported runs to the trash. It can be restored for %(days)s days."
        ) % {
            "name": new_experiment.name,
            "days": DAYS_IN_BIN,
        }
    else:
        runs = Run.objects.visible_to(request.user).filter(uid__in=uids, source__isnull=False)
        count = len(delete_runs(changeable(request.user, runs), request.user))
        means = Run.objects.permitted_to(request.user).filter(source__kind=KIND)
        restore_runs(changeable(request.user, means.filter(uid__in=request.POST.get("replaced", "").split())))
        message = ngettext(
            "Moved %(n)s imported run to the trash. It can be restored for %(days)s days.",
            "Moved %(n)s imported runs to the trash. They can be restored for %(days)s days.",
            count,
        ) % {"n": count, "days": DAYS_IN_BIN}
    messages.success(request, message)
    return redirect("import")


def _import_uploads(request: SignedIn, name: str, uploads: list[UploadedFile[Any]]) -> ImportResult:
    experiments = Experiment.objects.filter(owner=request.user, name=name, deleted_at__isnull=True).order_by("pk")
    target = ImportTarget(request.user, name, name == DEFAULT_NAME, experiments.first())
    return import_uploads(uploads, request.POST.getlist("path"), target)


def _experiment_names(request: SignedIn) -> list[str]:
    """Return the names of the user's experiments to suggest, the newest first."""
    current = Experiment.objects.current().filter(owner=request.user).order_by("-pk")
    return list(dict.fromkeys(current.values_list("name", flat=True)[:MAX_SUGGESTIONS]))


def _created_experiment(request: SignedIn, typed: str, uids: list[str]) -> Experiment | None:
    """Return the experiment that the import created, if the user may delete it and it holds nothing else; else None."""
    if (pk := whole_number(typed)) is None:
        return None
    experiment = Experiment.objects.visible_to(request.user).filter(pk=pk).first()
    if experiment is None or not may_change(request.user, experiment):
        return None
    others = experiment.runs.filter(deleted_at__isnull=True).exclude(uid__in=uids, source__isnull=False)
    return None if others.exists() else experiment
