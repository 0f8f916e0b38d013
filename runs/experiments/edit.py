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
from runs.experiments.audit_log import keep
from runs.experiments.trash import archive, delete_experiment, restore, unarchive
from runs.http import SignedIn, visible_experiment
from runs.models import Experiment
from runs.models.trash import DAYS_IN_BIN, TAG_LENGTH

TAGS_AT_MOST = 20
UNDO = "undo_experiment"
SHELVED = {"archive": "unarchive", "unarchive": "archive", "delete": "restore", "restore": "delete"}
"""Maps each action to the action that undoes it."""
SAID = {
    "archive": _("Archived %(name)s."),
    "unarchive": _("Put back %(name)s."),
    "delete": _("Deleted %(name)s."),
    "restore": _("Restored %(name)s."),
}
NEXT = ("experiments", "bin")
"""Names of the routes to which a form may redirect afterwards."""


class TagsField(forms.CharField):
    """A form field of tags, separated by commas."""

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value

    def clean(self, value: str | None) -> list[str]:
        """Return each tag once, in the order typed. Raise ValidationError if one is too long or there are too many."""
        tags = list(dict.fromkeys(tag.strip() for tag in (value or "").split(",") if tag.strip()))
        if long := [tag for tag in tags if len(tag) > TAG_LENGTH]:
            said = gettext("A tag has at most %(most)s characters; %(tag)s… has %(n)s.")
            raise ValidationError(said % {"most": TAG_LENGTH, "tag": long[0][:20], "n": len(long[0])})
        if len(tags) > TAGS_AT_MOST:
            said = gettext("At most %(most)s tags; these are %(n)s.")
            raise ValidationError(said % {"most": TAGS_AT_MOST, "n": len(tags)})
        return tags


class ExperimentEditForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form of all fields of an experiment that its owner may change."""

    tags = TagsField(required=False, label=gettext_lazy("Tags"), help_text=gettext_lazy("Parted by commas."))

    class Meta:
        model = Experiment
        fields = ("name", "question", "tags", "note", "is_private")
        labels = {  # noqa: RUF012
            "name": gettext_lazy("Name"),
            "question": gettext_lazy("Question"),
            "note": gettext_lazy("Note"),
            "is_private": gettext_lazy("Only I may see it"),
        }
        help_texts = {  # noqa: RUF012
            "question": gettext_lazy("What its runs are to answer."),
            "note": gettext_lazy("Markdown. HTML is shown as it is typed."),
        }
        widgets = {  # noqa: RUF012
            "question": forms.Textarea(attrs={"rows": 2}),
            "note": forms.Textarea(attrs={"rows": 12, "class": "mono"}),
        }


@require_http_methods(["GET", "HEAD", "POST"])
def experiment_edit(request: SignedIn, pk: int) -> HttpResponse:
    """Show the form; a POST saves it. Raise PermissionDenied if the user may not change it."""
    found = visible_experiment(request, pk)
    if not may_change(request.user, found):
        raise PermissionDenied
    before = {name: getattr(found, name) for name in ExperimentEditForm.Meta.fields}
    form = ExperimentEditForm(request.POST or None, instance=found)
    if request.method == "POST" and form.is_valid():
        # Only what the form shows: somebody else may archive the experiment meanwhile.
        found.save(update_fields=list(form.cleaned_data))
        keep(found, request.user, [name for name, value in before.items() if getattr(found, name) != value])
        messages.success(request, gettext("Kept %(name)s.") % {"name": found.name})
        return redirect(found)
    context = {"experiment": found, "form": form, "days": DAYS_IN_BIN}
    return TemplateResponse(request, "experiments/experiment_edit.html", context, status=400 if form.errors else 200)


@require_POST
def experiment_shelve(request: SignedIn, pk: int) -> HttpResponse:
    """Archive or delete an experiment, or undo either; the list then offers to undo it."""
    among = Experiment.objects.permitted_to(request.user)
    found = get_object_or_404(among, pk=pk)
    do = request.POST.get("do", "")
    if not may_change(request.user, found):
        raise PermissionDenied
    if do not in SHELVED:
        said = gettext("What to do must be one of %(verbs)s, not %(do)r.")
        messages.error(request, said % {"verbs": ", ".join(SHELVED), "do": do})
        return redirect(found)
    _shelve(found, do, request)
    said = gettext(SAID[do]) % {"name": found.name}
    if "undo" in request.POST:
        request.session.pop(UNDO, None)
        messages.success(request, said)
    else:
        request.session[UNDO] = {"pk": pk, "do": SHELVED[do], "said": said}
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
