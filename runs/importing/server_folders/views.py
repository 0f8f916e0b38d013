"""Page of folders of this server: admins import them, follow them and stop following them."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs.http import SignedIn, TextField, page_of, require_admin
from runs.importing.server_folders.commands import NewServerFolder, add_server_folder, stop_server_folder
from runs.importing.server_folders.paths import import_roots
from runs.models import Cluster, Experiment, ServerFolder
from workers.config import ConfigError

FOLDERS_A_PAGE = 50


class ServerFolderForm(forms.Form):
    """Form of a path of this server to import."""

    cluster = forms.ChoiceField(label=gettext_lazy("Cluster"))
    path = TextField(
        label=gettext_lazy("Path"),
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
        max_length=4096,
    )
    experiment_name = forms.CharField(
        label=gettext_lazy("Experiment"),
        max_length=200,
        required=False,
        help_text=gettext_lazy("The name of one of your experiments, or of a new one. If empty, the folder's name."),
    )
    follows = forms.BooleanField(
        label=gettext_lazy("Follow while it grows"),
        required=False,
        initial=True,
        help_text=gettext_lazy(
            "It is read again each time it has grown, until every attempt in it has ended, or nothing has changed for "
            "two days."
        ),
    )

    def __init__(self, data: Any, roots: dict[str, list[str]]) -> None:
        super().__init__(data)
        cast(forms.ChoiceField, self.fields["cluster"]).choices = [(name, name) for name in roots]
        inside = ", ".join(dict.fromkeys(root for listed in roots.values() for root in listed))
        self.fields["path"].help_text = gettext("A folder, a file or an archive inside %(roots)s.") % {"roots": inside}

    def save(self, request: SignedIn) -> ServerFolder | None:
        """Queue the import and return its folder; None if the form has problems, which it then names."""
        if not self.is_valid():
            return None
        values = self.cleaned_data
        name = values["experiment_name"].strip() or PurePath(values["path"]).name[:200] or "Imported"
        experiments = Experiment.objects.filter(owner=request.user, name=name, deleted_at__isnull=True)
        new = NewServerFolder(
            values["cluster"], values["path"], name, experiments.order_by("pk").first(), values["follows"]
        )
        try:
            folder, _ = add_server_folder(new, request.user)
        except ConfigError as error:
            for problem in error.problems:
                self.add_error(problem.path, problem.message)
            return None
        return folder


@require_http_methods(["GET", "HEAD", "POST"])
def server_folders(request: SignedIn) -> HttpResponse:
    """Render the form and the folders; a POST queues the import of a folder."""
    require_admin(request)
    roots = _roots()
    form = ServerFolderForm(request.POST if request.method == "POST" else None, roots)
    if request.method == "POST" and (folder := form.save(request)) is not None:
        messages.success(request, gettext("%(path)s will be read in a few seconds.") % {"path": folder.path})
        return redirect("import-folders")
    context = {"form": form, "roots": roots, **_list_context(request)}
    return TemplateResponse(request, "importing/server_folders.html", context, status=400 if form.errors else 200)


@require_safe
def server_folder_list(request: SignedIn) -> HttpResponse:
    """Render the list of folders alone, which the page fetches again while it is open."""
    require_admin(request)
    return TemplateResponse(request, "importing/server_folder_list.html", _list_context(request))


@require_POST
def server_folder_stop(request: SignedIn, pk: int) -> HttpResponse:
    """Read a folder no more. Its runs stay."""
    require_admin(request)
    folder = get_object_or_404(ServerFolder, pk=pk)
    stop_server_folder(folder)
    messages.success(request, gettext("%(path)s is read no more. Its runs stay.") % {"path": folder.path})
    return redirect("import-folders")


def _list_context(request: SignedIn) -> dict[str, Any]:
    rows = ServerFolder.objects.select_related("cluster", "person", "experiment").order_by("-pk")
    return {"page": page_of(request, rows, FOLDERS_A_PAGE)}


def _roots() -> dict[str, list[str]]:
    """Return the folders below which paths may be imported, by the name of their cluster."""
    clusters = Cluster.objects.order_by("name")
    return {cluster.name: list(map(str, roots)) for cluster in clusters if (roots := import_roots(cluster))}
