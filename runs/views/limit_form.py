"""The form of a limit: of whom, of what, how much, counted from when."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext, gettext_lazy

from runs.models import Experiment, Limit


class LimitForm(forms.Form):
    """`asked` is what to set, once it is clean."""

    person = forms.CharField(required=False, label=gettext_lazy("Person"), help_text=gettext_lazy("Their user name."))
    experiment = forms.IntegerField(
        required=False,
        label=gettext_lazy("Or experiment"),
        help_text=gettext_lazy("Its number, as in its address."),
        widget=forms.TextInput(attrs={"inputmode": "numeric"}),
    )
    kind = forms.ChoiceField(
        choices=[("gpu", gettext_lazy("GPU-hours")), ("cpu", gettext_lazy("CPU-hours"))], label=gettext_lazy("Of")
    )
    hours = forms.FloatField(
        min_value=0, label=gettext_lazy("Hours"), widget=forms.TextInput(attrs={"inputmode": "decimal"})
    )
    period = forms.ChoiceField(
        choices=[("month", gettext_lazy("each month")), ("all", gettext_lazy("in all"))], label=gettext_lazy("Counted")
    )

    def clean_person(self) -> User | None:
        """The person of that name."""
        name = self.cleaned_data["person"].strip()
        person = User.objects.filter(username=name).first() if name else None
        if name and person is None:
            raise forms.ValidationError(gettext("There is nobody of the name %(name)r.") % {"name": name})
        return person

    def clean_experiment(self) -> Experiment | None:
        """The experiment of that number."""
        pk = self.cleaned_data["experiment"]
        there = Experiment.objects.filter(deleted_at__isnull=True)
        experiment = there.filter(pk=pk).first() if pk is not None and 0 <= pk < 2**63 else None
        if pk is not None and experiment is None:
            raise forms.ValidationError(gettext("There is no experiment %(pk)s.") % {"pk": pk})
        return experiment

    def clean(self) -> dict[str, Any]:
        """Either of a person or of an experiment."""
        data = super().clean() or {}
        if not self.errors and (data["person"] is None) == (data["experiment"] is None):
            self.add_error("person", gettext("Name either a person or an experiment."))
        return data

    @property
    def asked(self) -> dict[str, Any]:
        """What `costs.set_limit` is to be told."""
        data = self.cleaned_data
        return {name: data[name] for name in ("person", "experiment", "hours")} | {
            "kind": Limit.Kind(data["kind"]), "period": Limit.Period(data["period"]),
        }  # fmt: skip
