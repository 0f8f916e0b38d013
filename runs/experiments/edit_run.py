"""View that edits a run: its name, tags and note."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods

from runs.access import may_change_run
from runs.experiments.audit_log import change
from runs.experiments.edit import TagsField
from runs.http import NoteField, SignedIn, visible_run
from runs.models import Run


class RunEditForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form of the fields of a run that may change after its launch."""

    tags = TagsField(required=False, label=gettext_lazy("Tags"), help_text=gettext_lazy("Separated by commas."))

    class Meta:
        model = Run
        fields = ("name", "tags", "note")
        labels = {"name": gettext_lazy("Name"), "note": gettext_lazy("Note")}  # noqa: RUF012
        help_texts = {"note": gettext_lazy("Markdown. HTML is shown as text.")}  # noqa: RUF012
        field_classes = {"note": NoteField}  # noqa: RUF012
        widgets = {"note": forms.Textarea(attrs={"rows": 5, "class": "mono"})}  # noqa: RUF012

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The values that the user saw are sent too, so that a field that only another user changed stays as it is.
        for field in self.fields.values():
            field.show_hidden_initial = True


@require_http_methods(["GET", "HEAD", "POST"])
def run_edit(request: SignedIn, uid: str) -> HttpResponse:
    """Show the form; a POST saves it. Raise PermissionDenied if the user may not change the run."""
    run = visible_run(request, uid)
    if not may_change_run(request.user, run):
        raise PermissionDenied
    form = RunEditForm(request.POST or None, instance=visible_run(request, uid))
    if request.method == "POST" and form.is_valid():
        change(run, request.user, {name: form.cleaned_data[name] for name in form.changed_data})
        messages.success(request, gettext("Saved %(name)s.") % {"name": run.name})
        return redirect(run)
    context = {"run": run, "form": form}
    return TemplateResponse(request, "run_page/edit.html", context, status=400 if form.errors else 200)
