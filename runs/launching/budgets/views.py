"""Views of the page of costs and limits, and the form of a limit."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_POST, require_safe

from runs.access import may_manage_users, note
from runs.http import FILES, SignedIn, page_of, require_choice, table_response
from runs.launching.budgets.hours import BY, format_hours, shares, total
from runs.launching.budgets.limits import Use, period_start, set_limit, uses
from runs.models import Experiment, Limit, Run
from runs.tables import COUNTS, Column, Link, NumberStyle, Table

LIMITS_A_PAGE = 20
PAGES = ("experiment", "sweep")
"""Groupings whose rows link to the route of the same name."""
HOURS = NumberStyle(format_hours)


class LimitForm(forms.Form):
    """A form of a limit. `arguments` returns the arguments of `set_limit` after validation."""

    person = forms.CharField(
        required=False, max_length=150, label=gettext_lazy("User"), help_text=gettext_lazy("The name of a user.")
    )
    experiment = forms.IntegerField(
        required=False,
        label=gettext_lazy("Or experiment"),
        help_text=gettext_lazy("The number in its address."),
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
    )
    kind = forms.ChoiceField(
        choices=[("gpu", gettext_lazy("GPU-hours")), ("cpu", gettext_lazy("CPU-hours"))],
        label=gettext_lazy("GPU or CPU"),
    )
    hours = forms.FloatField(
        min_value=0, label=gettext_lazy("Hours"), widget=forms.TextInput(attrs={"inputmode": "decimal"})
    )
    period = forms.ChoiceField(
        choices=[("month", gettext_lazy("per month")), ("all", gettext_lazy("in total"))], label=gettext_lazy("Period")
    )

    def clean_person(self) -> User | None:
        """Return the user with that name, None if the field is empty. Raise ValidationError if unknown."""
        name = self.cleaned_data["person"].strip()
        person = User.objects.filter(username=name).first() if name else None
        if name and person is None:
            raise forms.ValidationError(gettext("Unknown user %(name)r.") % {"name": name})
        return person

    def clean_experiment(self) -> Experiment | None:
        """Return the experiment with that number, None if the field is empty. Raise ValidationError if unknown."""
        pk = self.cleaned_data["experiment"]
        experiments = Experiment.objects.filter(deleted_at__isnull=True)
        experiment = experiments.filter(pk=pk).first() if pk is not None and 0 <= pk < 2**63 else None
        if pk is not None and experiment is None:
            raise forms.ValidationError(gettext("There is no experiment %(pk)s.") % {"pk": pk})
        return experiment

    def clean(self) -> dict[str, Any]:
        """Check that the form names either a user or an experiment, and not both."""
        data = super().clean() or {}
        if not self.errors and (data["person"] is None) == (data["experiment"] is None):
            self.add_error("person", gettext("Name either a user or an experiment."))
        return data

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `set_limit`."""
        data = self.cleaned_data
        return {name: data[name] for name in ("person", "experiment", "hours")} | {
            "kind": Limit.Kind(data["kind"]), "period": Limit.Period(data["period"]),
        }  # fmt: skip


TITLES = {"person": _("User"), "experiment": _("Experiment"), "sweep": _("Sweep"), "cluster": _("Cluster")}
NUMBERS = ("gpu_hours", "cpu_hours", "runs")
SPANS = {"month": _("This month"), "30d": _("30 days"), "all": _("All time")}


@require_safe
def costs(request: SignedIn) -> HttpResponse:
    """Show the hours of all runs that this user may see, and the limits."""
    return TemplateResponse(request, "launching/costs.html", _context(request, LimitForm()))


@require_safe
def costs_table(request: SignedIn) -> HttpResponse:
    """Return the hours of the page as a file. Raise UnknownChoice for an unknown `as`, `by` or `since`."""
    form = require_choice(request, "as", FILES, FILES[0])
    by, span, table = _hours(request)
    notes = (
        f"Hours by {by}, {SPANS[span].lower()}, at {timezone.now().isoformat(timespec='minutes')}",
        f"Of the runs that {request.user.get_username()} may see, from each attempt's start to its end, without queues",
    )
    table = table.select(by, "number", *NUMBERS) if form == "csv" else table.select("name", *NUMBERS)
    return table_response(request, table, f"hours by {by} {span}", notes)


@require_POST
def limit_set(request: SignedIn) -> HttpResponse:
    """Create or change a limit."""
    _check(request)
    form = LimitForm(request.POST)
    if not form.is_valid():
        return TemplateResponse(request, "launching/costs.html", _context(request, form), status=400)
    limit = set_limit(**form.arguments)
    note(request.user, limit, f"Set: {limit}")
    messages.success(request, gettext("The limit applies from now on."))
    return redirect("costs")


@require_POST
def limit_remove(request: SignedIn, pk: int) -> HttpResponse:
    """Delete a limit."""
    _check(request)
    limit = get_object_or_404(Limit, pk=pk)
    note(request.user, limit, f"Removed: {limit}")
    limit.delete()
    messages.success(request, gettext("Removed the limit."))
    return redirect("costs")


def visible_limits(request: SignedIn) -> QuerySet[Limit]:
    """Return the limits that the user may see: their own, those of experiments that they see, and all for admins."""
    limits = Limit.objects.select_related("person", "experiment").order_by("person__username", "experiment", "pk")
    if may_manage_users(request.user):
        return limits
    return limits.filter(Q(person=request.user) | Q(experiment__in=Experiment.objects.visible_to(request.user)))


def span_start(span: str) -> datetime | None:
    """Return when a span of time began; None for all time."""
    return timezone.now() - timedelta(days=30) if span == "30d" else period_start(span)


def _context(request: SignedIn, form: LimitForm) -> dict[str, Any]:
    by, span, table = _hours(request)
    limits = page_of(request, visible_limits(request), LIMITS_A_PAGE)
    used: list[Use] = uses(limits)
    return {
        "by": by, "choices": {name: gettext(words) for name, words in TITLES.items()},
        "span": span, "spans": {name: gettext(words) for name, words in SPANS.items()},
        "file_query": f"?by={by}&since={span}&",
        "hours": table.select("name", *NUMBERS),
        "page": limits, "uses": used, "form": form, "may_set": may_manage_users(request.user),
    }  # fmt: skip


def _hours(request: SignedIn) -> tuple[str, str, Table]:
    """Return the grouping and the period that the address selects, and the hours of the runs that the user may see.

    `number` is that of a group's address, since names of experiments and sweeps may repeat; it is empty for a group
    without a page.
    """
    by, span = require_choice(request, "by", BY, "person"), require_choice(request, "since", SPANS, "month")
    groups = shares(Run.objects.visible_to(request.user), by, span_start(span))
    keys = [share.key if by in PAGES else None for share in groups]
    rows = [
        (share.name, key, Link(share.name, reverse(by, args=[key])) if key else share.name or gettext("no sweep"),
         share.hours.gpu, share.hours.cpu, share.runs)
        for share, key in zip(groups, keys, strict=True)
    ]  # fmt: skip
    columns = (
        Column(by, kind=str), Column("number"), Column("name", gettext(TITLES[by]), str),
        Column("gpu_hours", gettext("GPU-hours"), style=HOURS), Column("cpu_hours", gettext("CPU-hours"), style=HOURS),
        Column("runs", gettext("Runs"), style=COUNTS),
    )  # fmt: skip
    hours = total(share.hours for share in groups)
    return by, span, Table(columns, tuple(rows), ("", None, gettext("Total"), hours.gpu, hours.cpu, None))


def _check(request: SignedIn) -> None:
    if not may_manage_users(request.user):
        raise PermissionDenied
