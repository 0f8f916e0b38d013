"""Pages of saved views. A saved view is a page with its settings under a name; it is private or shared."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from runs.access import may_make
from runs.chart_layouts import to_text, with_layout
from runs.http import SignedIn
from runs.models import Experiment, SavedView

MAX_QUERY_LENGTH = 8000
DROPPED_PARAMS = ("after", "page")
"""Parameters that a saved view drops, so that it opens on its first page."""


class SavedViewForm(forms.Form):
    """A form of a saved view, as a page sends it."""

    name = forms.CharField(max_length=100)
    page = forms.ChoiceField(choices=SavedView.Page.choices)
    experiment = forms.ModelChoiceField(Experiment.objects.none(), required=False)
    query = forms.CharField(max_length=MAX_QUERY_LENGTH, required=False)
    is_shared = forms.BooleanField(required=False)

    def __init__(self, data: QueryDict, person: User) -> None:
        super().__init__(data)
        self.person = person
        self.fields["experiment"].queryset = Experiment.objects.visible_to(person)  # type: ignore[attr-defined]

    def clean_query(self) -> str:
        """Return the address's query string without the parameters that select a page of results."""
        params = QueryDict(self.cleaned_data["query"], mutable=True)
        for name in DROPPED_PARAMS:
            params.pop(name, None)
        return params.urlencode()

    def clean(self) -> dict[str, Any]:
        """Check that a view of an experiment names one, and clear the experiment of other views.

        Raise ValidationError if it names none that the user may see.
        """
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        is_experiment = cleaned.get("page") == SavedView.Page.EXPERIMENT
        if is_experiment and cleaned.get("experiment") is None:
            raise forms.ValidationError(gettext("A view of an experiment must name one that you may see."))
        return self._with_charts(cleaned if is_experiment else cleaned | {"experiment": None})

    def _with_charts(self, cleaned: dict[str, Any]) -> dict[str, Any]:
        """Add the user's layout of the page's charts to the query, so that whoever opens the view sees the same charts.

        Raise ValidationError if the query gets too long.
        """
        if "query" not in cleaned or "page" not in cleaned:
            return cleaned
        params = with_layout(QueryDict(cleaned["query"]), self.person, cleaned["page"], cleaned["experiment"])
        query = to_text(params)
        if len(query) > MAX_QUERY_LENGTH:
            message = gettext("The view with its charts has %(count)s characters, more than %(n)s; remove some charts.")
            raise forms.ValidationError(message % {"count": len(query), "n": MAX_QUERY_LENGTH})
        return cleaned | {"query": query}


@require_http_methods(["GET", "HEAD", "POST"])
def saved_views(request: SignedIn) -> HttpResponse:
    """List the user's own and shared views; a POST saves a view and replaces the user's own view of the same name."""
    if request.method == "POST":
        return _save(request)
    views = SavedView.objects.visible_to(request.user).select_related("owner", "experiment").order_by("name", "pk")
    own_views = [view for view in views if view.owner_id == request.user.pk]
    shared = [view for view in views if view.owner_id != request.user.pk]
    context = {"mine": own_views, "shared": shared, "may_share": may_make(request.user)}
    return TemplateResponse(request, "experiments/saved_views.html", context)


@require_safe
def saved_view(request: SignedIn, pk: int) -> HttpResponse:
    """Redirect to the page that the view saves."""
    return redirect(get_object_or_404(SavedView.objects.visible_to(request.user), pk=pk).target)


@require_POST
def saved_view_change(request: SignedIn, pk: int) -> HttpResponse:
    """Rename, share, unshare or delete one of the user's own views."""
    view = get_object_or_404(SavedView.objects.visible_to(request.user), pk=pk)
    do = request.POST.get("do", "")
    if view.owner_id != request.user.pk or (do == "share" and not may_make(request.user)):
        raise PermissionDenied
    if do == "delete":
        view.delete()
        messages.success(request, gettext("Deleted the view %(name)s.") % {"name": view.name})
    elif do in ("share", "unshare"):
        SavedView.objects.filter(pk=pk).update(is_shared=do == "share")
        shared, private = gettext("%(name)s is shared with all users."), gettext("%(name)s is no longer shared.")
        messages.success(request, (shared if do == "share" else private) % {"name": view.name})
    elif do == "rename":
        _rename(request, view)
    else:
        message = gettext("The action must be one of %(verbs)s, not %(do)r.")
        messages.error(request, message % {"verbs": "rename, share, unshare, delete", "do": do})
    return redirect("saved-views")


def _save(request: SignedIn) -> HttpResponse:
    form = SavedViewForm(request.POST, request.user)
    if not form.is_valid():
        for field, problems in form.errors.items():
            named = field if field != "__all__" else gettext("The view")
            messages.error(request, f"{named}: {' '.join(map(str, problems))}")
        return redirect("saved-views")
    values = form.cleaned_data
    if values["is_shared"] and not may_make(request.user):
        raise PermissionDenied
    view, is_new = SavedView.objects.update_or_create(owner=request.user, name=values.pop("name"), defaults=values)
    message = gettext("Saved the view %(name)s.") if is_new else gettext("Replaced the view %(name)s.")
    messages.success(request, message % {"name": view.name})
    return redirect(view.target)


def _rename(request: SignedIn, view: SavedView) -> None:
    name = request.POST.get("name", "").strip()
    if not 1 <= len(name) <= 100 or "\x00" in name:
        messages.error(request, gettext("A name must have 1 to 100 characters."))
        return
    try:
        with transaction.atomic():
            SavedView.objects.filter(pk=view.pk).update(name=name)
        messages.success(request, gettext("Renamed %(old)s to %(new)s.") % {"old": view.name, "new": name})
    except IntegrityError:
        messages.error(request, gettext("You already have another view named %(name)s.") % {"name": name})
