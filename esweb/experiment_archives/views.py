"""Pages of archives of experiments: what one holds, the file, and the import of one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import PermissionDenied
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from esweb.experiment_archives.archive_reader import BadArchive
from esweb.experiment_archives.export import archive_stem, experiment_archive, experiment_size
from esweb.experiment_archives.importer import ArchiveResult, Destination, import_experiment
from runs.access import may_make
from runs.exporting import Parts, read_parts, send_archive
from runs.http import SignedIn, visible_experiment
from runs.importing import import_uploads, upload_limits, upload_problem


class ExperimentImportForm(forms.Form):
    """Select the experiment that the archive's runs go to. The template holds the field of the file."""

    name = forms.CharField(
        required=False,
        max_length=200,
        label=gettext_lazy("Experiment"),
        help_text=gettext_lazy("A new name, or one of your experiments. Default: the name in the archive."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    is_private = forms.BooleanField(required=False, label=gettext_lazy("Only I may see it"))


@require_safe
def experiment_export(request: SignedIn, pk: int) -> HttpResponse:
    """Render what an experiment's archive holds, with the sizes of its parts."""
    experiment = visible_experiment(request, pk)
    count, size = experiment_size(experiment, request.user)
    stem = archive_stem(experiment)
    context = {
        "experiment": experiment,
        "run_count": count,
        "size": size,
        "total": size.of(Parts()),
        "file_address": reverse("experiment-export-file", args=[pk]),
        "api_address": request.build_absolute_uri(reverse("api:export_experiment", args=[pk])),
        "file_name": f"{stem}.zip",
        "import_command": f"./manage.py import_experiment {stem}.zip",
    }
    return TemplateResponse(request, "exporting/experiment.html", context)


@require_safe
def experiment_export_file(request: SignedIn, pk: int) -> HttpResponseBase:
    """Send the archive of an experiment as a zip while it is made."""
    experiment = visible_experiment(request, pk)
    members = experiment_archive(experiment, read_parts(request), request.user)
    return send_archive(members, archive_stem(experiment), request.user.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def experiment_import(request: SignedIn) -> HttpResponse:
    """Render the form; a POST imports the archive and reports what became of each part."""
    if not may_make(request.user):
        raise PermissionDenied
    is_post = request.method == "POST"
    form = ExperimentImportForm(request.POST if is_post else None)
    uploads = request.FILES.getlist("file")
    problem = _upload_problem(uploads) if is_post else ""
    result = None
    if is_post and form.is_valid() and not problem:
        destination = Destination(request.user, form.cleaned_data["name"], form.cleaned_data["is_private"])
        result, problem = import_upload(uploads[0], destination)
    context: dict[str, Any] = {
        "form": form,
        "problem": problem,
        "result": result,
        "imported": result.imported if result else None,
        **upload_limits(),
    }
    is_refused = problem or form.errors
    return TemplateResponse(request, "exporting/import.html", context, status=400 if is_refused else 200)


def import_upload(upload: UploadedFile[Any], destination: Destination) -> tuple[ArchiveResult | None, str]:
    """Import an uploaded archive. Return the result, or why the file is no archive of an experiment."""
    try:
        file: Any = upload.file
        name = upload.name or "experiment.zip"
        return import_experiment(file, destination, lambda target: import_uploads([upload], [name], target)), ""
    except BadArchive as error:
        return None, str(error)


def _upload_problem(uploads: list[UploadedFile[Any]]) -> str:
    if len(uploads) != 1:
        return gettext("Choose one archive.")
    return upload_problem(uploads)
