"""Forms of a judge: its server, sampling, prices and limits; and of its assignments."""

from __future__ import annotations

from itertools import chain
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy

from judging.judges import newest_rubrics, save_key
from judging.models import GoldSet, Judge, JudgeKey, Rubric
from judging.models.judge import JUDGE_SETTINGS
from judging.models.limits import form_field
from runs.http import JsonField

MAX_CAP = 1_000_000


class JudgeForm(forms.ModelForm):  # type: ignore[type-arg]
    """Form of a judge. `draft` is the judge to save, once the form is clean. A typed key is stored under the judge's
    name."""

    secret = forms.CharField(
        required=False, max_length=1000, label=gettext_lazy("New key"),
        help_text=gettext_lazy("Stored encrypted and never shown again. Empty: the key above, if any."),
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
    )  # fmt: skip

    class Meta:
        model = Judge
        fields = JUDGE_SETTINGS
        field_classes = {"sampling": JsonField}  # noqa: RUF012
        formfield_callback = form_field

    field_order = tuple(chain(*((name, "secret") if name == "key" else (name,) for name in JUDGE_SETTINGS)))

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Keys of an existing judge are its owner's, also if an admin changes it.
        self.person = self.instance.owner or person
        self.fields["sampling"].widget.attrs["rows"] = 2
        if self.instance.pk is None:
            self.fields["sampling"].initial = self.initial["sampling"] = {"temperature": 0}
        self.fields["key"].queryset = JudgeKey.objects.filter(owner=self.person).order_by("name")  # type: ignore[attr-defined]
        self.fields["key"].empty_label = "–"  # type: ignore[attr-defined]

    def clean_secret(self) -> str:
        """Return the typed key. Raise ValidationError if it could not be sent."""
        secret: str = self.cleaned_data["secret"].strip()
        if not (secret.isascii() and secret.isprintable()):
            raise forms.ValidationError(gettext_lazy("Must be one line of printable ASCII characters."))
        return secret

    def clean_sampling(self) -> dict[str, Any]:
        """Return the sampling as a dict of fields. Raise ValidationError if it is not an object."""
        sampling = self.cleaned_data["sampling"] or {}
        if not isinstance(sampling, dict):
            raise forms.ValidationError(gettext_lazy('Must be an object such as {"temperature": 0}.'))
        return sampling

    @property
    def draft(self) -> Judge:
        """Return the judge to save; a typed key is stored first."""
        values = {name: value for name, value in self.cleaned_data.items() if name != "secret"}
        if secret := self.cleaned_data["secret"]:
            values["key"] = save_key(self.person, values["name"], secret)
        return Judge(**values)

    def _post_clean(self) -> None:
        """Do nothing: `judging.judges` writes the row, and checks more than the row's own validation."""


class WorkForm(forms.Form):
    """Form of an assignment to a tournament, or to a gold set if the form has `gold_set`."""

    judge = forms.ModelChoiceField(Judge.objects.none(), label=gettext_lazy("Judge"))
    gold_set = forms.ModelChoiceField(GoldSet.objects.none(), label=gettext_lazy("Gold set"))
    rubrics = forms.ModelMultipleChoiceField(
        Rubric.objects.none(), widget=forms.CheckboxSelectMultiple, label=gettext_lazy("Criteria")
    )
    cap = forms.DecimalField(
        min_value=0, max_value=MAX_CAP, max_digits=14, decimal_places=6, label=gettext_lazy("Cap"),
        help_text=gettext_lazy("The most to spend, in the currency of the judge's prices. 0 for a free judge."),
    )  # fmt: skip
    both_orders = forms.BooleanField(
        required=False, initial=True, label=gettext_lazy("Ask in both orders"),
        help_text=gettext_lazy("Unticked: each pair once, in an order from the seed, at half the price."),
    )  # fmt: skip
    asks_twice = forms.BooleanField(
        required=False, initial=True, label=gettext_lazy("Repeat 5 in 100 questions"),
        help_text=gettext_lazy("Shows whether the judge repeats its verdict. Second verdicts do not count in ratings."),
    )  # fmt: skip


class TournamentWorkForm(WorkForm):
    """Form of an assignment to a tournament, of a judge that the user may ask."""

    gold_set = None  # type: ignore[assignment]

    def __init__(self, *args: Any, judges: Any, rubrics: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["judge"].queryset = judges  # type: ignore[attr-defined]
        self.fields["rubrics"].queryset = rubrics  # type: ignore[attr-defined]
        self.fields["rubrics"].initial = [rubric.pk for rubric in rubrics]


class GoldWorkForm(WorkForm):
    """Form of an assignment to a gold set that the user sees, of the judge of the page."""

    judge = None  # type: ignore[assignment]
    asks_twice = None  # type: ignore[assignment]

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["gold_set"].queryset = GoldSet.objects.visible_to(person).order_by("name")  # type: ignore[attr-defined]
        self.fields["rubrics"].queryset = newest_rubrics(person)  # type: ignore[attr-defined]
