"""Forms of chart layouts, as pages and their script send them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.http import QueryDict
from django.utils.translation import gettext

from runs.chart_layouts.arrangement import PARAMETER
from runs.chart_layouts.cards import Card, own_card, parse_cards
from runs.charts.own import InvalidChart, make_own
from runs.models import ChartLayout, Experiment


class PageForm(forms.Form):
    """The page whose charts change: its kind, and its experiment if it is an experiment's page."""

    page = forms.ChoiceField(choices=ChartLayout.Page.choices)
    experiment = forms.ModelChoiceField(Experiment.objects.none(), required=False)

    def __init__(self, data: QueryDict, person: User) -> None:
        super().__init__(data)
        self.sent = data
        self.fields["experiment"].queryset = Experiment.objects.visible_to(person)  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Check that an experiment is named on an experiment's page only. Raise ValidationError."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        has_experiment = cleaned.get("experiment") is not None
        if not self.errors and has_experiment != (cleaned.get("page") == ChartLayout.Page.EXPERIMENT):
            message = gettext("The page experiment must name an experiment that you may see; other pages must not.")
            raise forms.ValidationError(message)
        return cleaned

    @property
    def problems(self) -> list[str]:
        """Return a sentence for each problem of the form, with the name of its field."""
        return [
            f"{message}" if name == "__all__" else f"{name}: {message}"
            for name, texts in self.errors.items()
            for message in texts
        ]


class LayoutForm(PageForm):
    """A whole layout: the text form of each card in a field `charts`."""

    def clean(self) -> dict[str, Any]:
        """Add the cards as `cards`. Raise ValidationError if any text is invalid."""
        cleaned = super().clean()
        cards, problems = parse_cards(self.sent.getlist(PARAMETER))
        if problems:
            raise forms.ValidationError(list(problems))
        return cleaned | {"cards": cards}


class AddChartForm(PageForm):
    """A chart of the user's own: one or more fields `key`, and optionally `against` and `title`."""

    def clean(self) -> dict[str, Any]:
        """Add the chart's card as `card`. Raise ValidationError if it describes no chart."""
        return super().clean() | {"card": self._card()}

    def _card(self) -> Card:
        keys = [key.strip() for key in self.sent.getlist("key")]
        against, title = self.sent.get("against", "").strip(), self.sent.get("title", "").strip()
        try:
            return own_card(make_own([key for key in keys if key], against, title))
        except InvalidChart as problem:
            raise forms.ValidationError(str(problem)) from problem
