"""Forms for criteria and for gold sets."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.text import slugify
from django.utils.translation import gettext, gettext_lazy

from judging.judges.rubrics import RubricText
from judging.models import Criterion
from runs.http import TextField

MAX_RUBRIC_LENGTH = 20_000
"""Characters of a definition, which a model judge is sent with each pair."""


class RubricForm(forms.Form):
    """Form for the text of a rubric, as judges receive it."""

    question = forms.CharField(
        max_length=200, label=gettext_lazy("Question"),
        help_text=gettext_lazy("Shown above the buttons, such as: Which response is more polite?"),
    )  # fmt: skip
    text = TextField(
        max_length=MAX_RUBRIC_LENGTH, widget=forms.Textarea(attrs={"rows": 10}), label=gettext_lazy("Definition"),
        help_text=gettext_lazy("What counts and what does not, with borderline cases."),
    )  # fmt: skip
    scale_low = forms.IntegerField(initial=1, min_value=-100, max_value=100, label=gettext_lazy("Lowest score"))
    scale_high = forms.IntegerField(initial=10, min_value=-100, max_value=100, label=gettext_lazy("Highest score"))

    def clean_text(self) -> str:
        """Return the definition with the line breaks that the user typed: browsers send each of them as CR and LF."""
        return str(self.cleaned_data["text"]).replace("\r\n", "\n").replace("\r", "\n")

    def clean(self) -> dict[str, Any]:
        """Check that the highest score is above the lowest."""
        data = super().clean() or {}
        if not self.errors and data["scale_low"] >= data["scale_high"]:
            raise ValidationError({"scale_high": gettext("The highest score must be above the lowest.")})
        return data

    @property
    def rubric_text(self) -> RubricText:
        """Return the text of the rubric that the user typed."""
        return RubricText(**{name: self.cleaned_data[name] for name in ("question", "text", "scale_low", "scale_high")})


class CriterionForm(RubricForm):
    """Form for a new criterion with the text of its first rubric."""

    name = forms.CharField(
        max_length=60, label=gettext_lazy("Name"), help_text=gettext_lazy("A word or two, such as politeness.")
    )
    is_private = forms.BooleanField(required=False, label=gettext_lazy("Only I may see it"))
    field_order = ("name", "question", "text", "scale_low", "scale_high", "is_private")

    def clean_name(self) -> str:
        """Return the name as addresses and files contain it, a slug.

        Raise ValidationError if it has no letter or digit, or if another criterion has it.
        """
        slug: str = slugify(self.cleaned_data["name"])
        if not slug:
            raise ValidationError(gettext("The name must contain a letter or a digit."))
        if Criterion.objects.filter(slug=slug).exists():
            raise ValidationError(gettext("A criterion named %(name)s already exists.") % {"name": slug})
        return slug


class GoldForm(forms.Form):
    """Form for a gold set: a file of pairs with known verdicts."""

    name = forms.CharField(max_length=200, label=gettext_lazy("Name"))
    file = forms.FileField(
        label=gettext_lazy("File"),
        help_text=gettext_lazy("JSON lines. The guide to judging lists the keys of a line."),
    )
    is_private = forms.BooleanField(required=False, label=gettext_lazy("Only I may see it"))
