"""Forms of tournaments: create a tournament, and invite voters."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db import models
from django.utils.translation import gettext_lazy

from judging.judges import newest_rubrics
from judging.models import GoldSet, Rubric, Tournament
from judging.models.limits import form_field
from judging.models.tournament_settings import SETTINGS
from judging.voting.invitations import DAYS, MAX_DAYS, MAX_INVITATIONS
from runs.http import TextField
from runs.models.experiment import Person

DEFAULT_PROMPTS, MAX_PROMPTS = 50, 10_000


def _form_field(field: models.Field[Any, Any], **options: Any) -> forms.Field | None:
    """Return the form's field of a setting. A text has two lines and a maximum length."""
    if isinstance(field, models.TextField):
        options |= {"form_class": TextField, "widget": forms.Textarea(attrs={"rows": 2})}
    return form_field(field, **options)


class TournamentForm(forms.ModelForm):  # type: ignore[type-arg]
    """Form of a new tournament, without its contestants, which the page offers. `instance` is the unsaved
    tournament."""

    prompts = forms.IntegerField(
        min_value=1, max_value=MAX_PROMPTS, initial=DEFAULT_PROMPTS, label=gettext_lazy("Prompts"),
        help_text=gettext_lazy("Sampled by the seed from the prompts that all contestants answered."),
    )  # fmt: skip
    criteria = forms.ModelMultipleChoiceField(
        Rubric.objects.none(), widget=forms.CheckboxSelectMultiple, label=gettext_lazy("Criteria"),
        help_text=gettext_lazy("Each by its newest version, whose text never changes."),
    )  # fmt: skip

    class Meta:
        model = Tournament
        fields = SETTINGS
        formfield_callback = _form_field

    def __init__(self, *args: Any, person: Person, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if isinstance(field, forms.TypedChoiceField):
                # Without a choice, the default applies.
                field.required, field.empty_value = False, field.initial
        self.fields["criteria"].initial = newest_rubrics(person).filter(criterion__owner=None)
        self.fields["criteria"].queryset = newest_rubrics(person)  # type: ignore[attr-defined]
        self.fields["gold_set"].queryset = GoldSet.objects.visible_to(person).order_by("name")  # type: ignore[attr-defined]


class InvitationForm(forms.Form):
    """Form with the names of voters to invite, and the days that their links are valid."""

    names = TextField(
        widget=forms.Textarea(attrs={"rows": 3}), label=gettext_lazy("Names, one per line"),
        help_text=gettext_lazy("At most %(n)s at a time. Voters never see others' names.") % {"n": MAX_INVITATIONS},
    )  # fmt: skip
    days = forms.IntegerField(
        min_value=1, max_value=MAX_DAYS, initial=DAYS, label=gettext_lazy("Days that the links are valid")
    )
