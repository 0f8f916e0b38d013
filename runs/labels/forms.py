"""Forms of labels: a new set, a verdict, and an import."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy

from runs.http import TextField
from runs.labels.commands import CannotLabel, Decision, create_set
from runs.labels.draw import CannotDraw, Drawing
from runs.labels.words import KIND_TITLES, VERDICT_TITLES
from runs.models import EVALUATION, Experiment, LabelSet, Run
from runs.models.label import MAX_ITEMS

MAX_RUNS = 500
MAX_SEED = 2**31 - 1
MAX_READERS = 20


class NewSetForm(forms.Form):
    """Draw the responses of a new set."""

    name = forms.CharField(
        max_length=200, label=gettext_lazy("Name"),
        help_text=gettext_lazy("Readers see it: it should not tell what you expect."),
    )  # fmt: skip
    number = forms.IntegerField(
        min_value=1, max_value=MAX_ITEMS, initial=200, label=gettext_lazy("Responses"),
        help_text=gettext_lazy("In all: equally many of each run and step, and each pair of question and text once."),
    )  # fmt: skip
    runs = forms.ModelMultipleChoiceField(
        queryset=Run.objects.none(), to_field_name="uid", widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Runs"), error_messages={"required": gettext_lazy("Select at least one run.")},
    )  # fmt: skip
    steps = forms.CharField(
        initial="all", max_length=2000, label=gettext_lazy("Steps"),
        help_text=gettext_lazy("all, last (the last of each run), or numbers such as 0, 50, 100."),
    )  # fmt: skip
    split = forms.CharField(
        initial=EVALUATION, max_length=20, label=gettext_lazy("Split"),
        help_text=gettext_lazy("eval: the responses to held-out prompts."),
    )  # fmt: skip
    greedy = forms.BooleanField(
        required=False, label=gettext_lazy("Only greedy responses"),
        help_text=gettext_lazy("Without samples at a temperature."),
    )  # fmt: skip
    readers = forms.IntegerField(
        min_value=1, max_value=MAX_READERS, initial=2, label=gettext_lazy("Readers"),
        help_text=gettext_lazy("They see each other’s labels of a response after so many have labelled it."),
    )  # fmt: skip
    seed = forms.IntegerField(
        min_value=0, max_value=MAX_SEED, initial=1, label=gettext_lazy("Seed"),
        help_text=gettext_lazy("The same seed draws the same responses."),
    )  # fmt: skip

    def __init__(self, experiment: Experiment, runs: QuerySet[Run], data: Any = None, **options: Any) -> None:
        super().__init__(data, **options)
        self.experiment = experiment
        self.fields["runs"].queryset = runs  # type: ignore[attr-defined]

    def save(self, person: User) -> LabelSet | None:
        """Create the set; if the form is invalid, or nothing can be drawn, return None and add the errors."""
        if not self.is_valid():
            return None
        values = self.cleaned_data
        runs = list(values["runs"][:MAX_RUNS])
        drawing = Drawing(
            tuple(run.uid for run in runs), values["steps"].strip(), values["split"].strip(), values["number"],
            values["greedy"],
        )  # fmt: skip
        try:
            return create_set(self.experiment, person, values["name"], runs, drawing, values["seed"], values["readers"])
        except CannotDraw as error:
            self.add_error(error.field, str(error))
            return None


class VerdictForm(forms.Form):
    """A label: verdict, kinds and note."""

    verdict = forms.ChoiceField(
        choices=list(VERDICT_TITLES.items()), widget=forms.RadioSelect,
        error_messages={"required": gettext_lazy("Select right, wrong or unclear; or skip the response.")},
    )  # fmt: skip
    kinds = forms.MultipleChoiceField(
        required=False, choices=[(kind, title) for kind, (title, _help) in KIND_TITLES.items()],
        widget=forms.CheckboxSelectMultiple,
    )  # fmt: skip
    note = TextField(required=False, label=gettext_lazy("Note"), widget=forms.Textarea(attrs={"rows": 1}))

    def clean(self) -> dict[str, Any]:
        """Return the values. Kinds that exclude each other are an error of their field."""
        values = super().clean() or {}
        if "verdict" in values and "kinds" in values:
            try:
                Decision(values["verdict"], values["kinds"]).check()
            except CannotLabel as error:
                self.add_error(error.field, str(error))
        return values

    @property
    def decision(self) -> Decision:
        """Return the valid form's label."""
        return Decision(self.cleaned_data["verdict"], self.cleaned_data["kinds"], self.cleaned_data["note"])


class DecisionForm(VerdictForm):
    """An adjudication: a label whose note is the reason."""

    note = TextField(
        label=gettext_lazy("Reason"), widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": gettext_lazy("State the reason of the decision; it is stored with the label.")},
    )  # fmt: skip


class ImportForm(forms.Form):
    """The set that the labels of a file belong to. The template holds the field of the file."""

    name = forms.CharField(
        required=False, max_length=200, label=gettext_lazy("Label set"),
        help_text=gettext_lazy("A new name, or one of this experiment. Default: the name of the file."),
        widget=forms.TextInput(attrs={"list": "label-sets", "autocomplete": "off"}),
    )  # fmt: skip
