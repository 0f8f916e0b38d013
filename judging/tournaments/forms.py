"""Forms of tournaments: create a tournament, and invite voters."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext_lazy

from judging.judges import newest_rubrics
from judging.models import GoldSet, Rubric, Tournament
from judging.voting.invitations import DAYS, MAX_DAYS, MAX_INVITATIONS
from runs.http import TextField
from runs.models.experiment import Person

DEFAULT_PROMPTS, MAX_PROMPTS = 50, 10_000
MAX_OVERLAP = 100
PICK_LABELS = {
    Tournament.Picks.BALANCED: gettext_lazy("Balanced: all pairs equally often"),
    Tournament.Picks.TELLING: gettext_lazy("The most informative"),
}


class TournamentForm(forms.ModelForm):  # type: ignore[type-arg]
    """Form of a new tournament, without its contestants, which the page offers."""

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
        fields = (
            "name", "question", "overlap", "seed", "gold_set", "gold_every", "picks", "reveals", "warns", "is_private",
        )  # fmt: skip
        labels = {  # noqa: RUF012
            "name": gettext_lazy("Name"),
            "question": gettext_lazy("Question"),
            "overlap": gettext_lazy("Voters per pair"),
            "seed": gettext_lazy("Seed"),
            "gold_set": gettext_lazy("Gold set"),
            "gold_every": gettext_lazy("One gold pair in"),
            "picks": gettext_lazy("Next pair"),
            "reveals": gettext_lazy("Reveal the contestants to voters after their own vote"),
            "warns": gettext_lazy("Blur responses until the voter shows them"),
            "is_private": gettext_lazy("Only I may see it"),
        }
        help_texts = {  # noqa: RUF012
            "question": gettext_lazy("The question that the tournament answers. Voters do not see it."),
            "overlap": gettext_lazy("Two or more show how far voters agree."),
            "seed": gettext_lazy("Determines prompts, order and sides."),
            "gold_set": gettext_lazy("Pairs whose better response is known, to check how carefully voters vote."),
            "gold_every": gettext_lazy("15 is about 7 in 100."),
            "picks": gettext_lazy("In replays, the most informative gained nothing below 400 votes."),
        }
        field_classes = {"question": TextField}  # noqa: RUF012
        widgets = {"question": forms.Textarea(attrs={"rows": 2})}  # noqa: RUF012

    def __init__(self, *args: Any, person: Person, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["seed"].initial = 0
        self.fields["picks"].choices = list(PICK_LABELS.items())  # type: ignore[attr-defined]
        # Without a choice, the balanced method applies.
        self.fields["picks"].required = False
        self.fields["criteria"].initial = newest_rubrics(person).filter(criterion__owner=None)
        self.fields["criteria"].queryset = newest_rubrics(person)  # type: ignore[attr-defined]
        self.fields["gold_set"].queryset = GoldSet.objects.visible_to(person).order_by("name")  # type: ignore[attr-defined]
        for name, low, high in (("overlap", 1, MAX_OVERLAP), ("gold_every", 2, 1000)):
            self.fields[name].validators += [MinValueValidator(low), MaxValueValidator(high)]
            self.fields[name].widget.attrs |= {"min": low, "max": high}

    def clean_picks(self) -> str:
        """Return the method of picking pairs; balanced if none was given."""
        return self.cleaned_data["picks"] or Tournament.Picks.BALANCED


class InvitationForm(forms.Form):
    """Form with the names of voters to invite, and the days that their links are valid."""

    names = TextField(
        widget=forms.Textarea(attrs={"rows": 3}), label=gettext_lazy("Names, one per line"),
        help_text=gettext_lazy("At most %(n)s at a time. Voters never see others' names.") % {"n": MAX_INVITATIONS},
    )  # fmt: skip
    days = forms.IntegerField(
        min_value=1, max_value=MAX_DAYS, initial=DAYS, label=gettext_lazy("Days that the links are valid")
    )
