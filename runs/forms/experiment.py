"""A new experiment."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy

from runs.models import Experiment


class ExperimentForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new experiment."""

    class Meta:
        model = Experiment
        fields = ("name", "question", "is_private")
        labels = {  # noqa: RUF012
            "name": gettext_lazy("Name"),
            "question": gettext_lazy("Question"),
            "is_private": gettext_lazy("Only I may see it"),
        }
        help_texts = {"question": gettext_lazy("What its runs are to answer.")}  # noqa: RUF012
        widgets = {"question": forms.Textarea(attrs={"rows": 2})}  # noqa: RUF012
