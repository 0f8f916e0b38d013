"""Views that edit an experiment (name, question, tags, note, privacy), and archive, delete or restore it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_http_methods, require_POST

from runs.access import may_change
from runs.experiments.audit_log import log_edit
from runs.experiments.trash import archive, delete_experiment, restore, unarchive
from runs.http import NoteField, SignedIn, TextField, visible_experiment
from runs.models import Experiment
from runs.models.trash import DAYS_IN_BIN, TAG_LENGTH

MAX_TAGS = 20
UNDO = "undo_experiment"
INVERSE_ACTIONS = {"archive": "unarchive", "unarchive": "archive", "delete": "restore", "restore": "delete"}
"""Maps each action to the action that undoes it."""
MESSAGES = {
    "archive": _("Archived %(name)s."),
    "unarchive": _("Unarchived %(name)s."),
    "delete": _("Moved %(name)s to the trash."),
    "restore": _("Restored %(name)s."),
}
NEXT = ("experiments", "bin")
"""Names of the routes to which a form may redirect afterwards."""


class TagsField(TextField):
    """A form field of tags, separated by commas."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value

    def clean(self, value: str | None) -> list[str]:
        """Return each tag once, in the order typed. Raise ValidationError if a tag or the text is too long, or if
        there are too many."""
        self.run_validators(value or "")
        tags = list(dict.fromkeys(tag.strip() for tag in (value or "").split(",") if tag.strip()))
        if long := [tag for tag in tags if len(tag) > TAG_LENGTH]:
            message = gettext("A tag has at most %(most)s characters; %(tag)s… has %(n)s.")
            raise ValidationError(message % {"most": TAG_LENGTH, "tag": long[0][:20], "n": len(long[0])})
        if len(tags) > MAX_TAGS:
            message = gettext("At most %(most)s tags are allowed, not %(n)s.")
            raise ValidationError(message % {"most": MAX_TAGS, "n": len(tags)})
        return tags


class ExperimentEditForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form of all fields of an experiment that its owner may change."""

    tags = TagsField(required=False, label=gettext_lazy("Tags"), help_text=gettext_lazy("Separated by commas."))

    class Meta:
        model = Experiment
        fields = ("name", "question", "tags", "note", "is_private")
        labels = {  # noqa: RUF012
            "name": gettext_lazy("Name"),
            "question": gettext_lazy("Question"),
            "note": gettext_lazy("Note"),
            "is_private": gettext_lazy("Private"),
        }
        help_texts = {  # noqa: RUF012
            "question": gettext_lazy("The question that its runs answer."),
            "note": gettext_lazy("Markdown. HTML is shown as text."),
        }
        field_classes = {"question": TextField, "note": NoteField}  # noqa: RUF012
        widgets = {  # noqa: RUF012
            "question": forms.Textarea(attrs={"rows": 2}),
            "note": forms.Textarea(attrs={"rows": 12, "class": "mono"}),
        }


@require_http_methods(["GET", "HEAD", "POST"])
def experiment_edit(request: SignedIn, pk: int) -> HttpResponse:
    """Show the form; a POST saves it. Raise PermissionDenied if the user may not change it."""
    experiment = visible_experiment(request, pk)
    if not may_change(request.user, experiment):
        raise PermissionDenied
    before = {name: getattr(experiment, name) for name in ExperimentEditForm.Meta.fields}
    form = ExperimentEditForm(request.POST or None, instance=experiment)
    if request.method == "POST" and form.is_valid():
        # Save only the form's fields: another user may archive the experiment meanwhile.
        experiment.save(update_fields=list(form.cleaned_data))
        log_edit(
            experiment, request.user, [name for name, value in before.items() if getattr(experiment, name) != value]
        )
        messages.success(request, gettext("Saved %(name)s.") % {"name": experiment.name})
        return redirect(experiment)
    context = {"experiment": experiment, "form": form, "days": DAYS_IN_BIN}
    return TemplateResponse(request, "experiments/experiment_edit.html", context, status=400 if form.errors else 200)


@require_POST
def experiment_shelve(request: SignedIn, pk: int) -> HttpResponse:
    """Archive or delete an experiment, or undo either; the list then offers to undo it."""
    permitted = Experiment.objects.permitted_to(request.user)
    experiment = get_object_or_404(permitted, pk=pk)
    do = request.POST.get("do", "")
    if not may_change(request.user, experiment):
        raise PermissionDenied
    if do not in INVERSE_ACTIONS:
        message = gettext("The action must be one of %(verbs)s, not %(do)r.")
        messages.error(request, message % {"verbs": ", ".join(INVERSE_ACTIONS), "do": do})
        return redirect(experiment)
    _shelve(experiment, do, request)
    message = gettext(MESSAGES[do]) % {"name": experiment.name}
    if "undo" in request.POST:
        request.session.pop(UNDO, None)
        messages.success(request, message)
    else:
        request.session[UNDO] = {"pk": pk, "do": INVERSE_ACTIONS[do], "message": message}
    return redirect(request.POST["next"] if request.POST.get("next") in NEXT else "experiments")


def _shelve(experiment: Experiment, do: str, request: SignedIn) -> None:
    if do == "archive":
        archive(experiment, request.user)
    elif do == "unarchive":
        unarchive(experiment)
    elif do == "delete":
        delete_experiment(experiment, request.user)
    else:
        restore(experiment)
