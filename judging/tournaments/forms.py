"""The forms of tournaments: a new one, and whom to invite to it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.translation import gettext_lazy

from judging.judges import newest_rubrics
from judging.models import GoldSet, Rubric, Tournament
from judging.voting.invitations import AT_MOST, DAYS, DAYS_AT_MOST
from runs.models.experiment import Person

PROMPTS, PROMPTS_AT_MOST = 50, 10_000
OVERLAP_AT_MOST = 100
PICKS = {
    Tournament.Picks.BALANCED: gettext_lazy("Balanced: all pairs alike"),
    Tournament.Picks.TELLING: gettext_lazy("Where a vote tells most"),
}


class TournamentForm(forms.ModelForm):  # type: ignore[type-arg]
    """A new tournament, but for its contestants: which answers there are is the page's to know."""

    prompts = forms.IntegerField(
        min_value=1, max_value=PROMPTS_AT_MOST, initial=PROMPTS, label=gettext_lazy("Prompts"),
        help_text=gettext_lazy("Drawn by the seed from those that all contestants have answered."),
    )  # fmt: skip
    criteria = forms.ModelMultipleChoiceField(
        Rubric.objects.none(), widget=forms.CheckboxSelectMultiple, label=gettext_lazy("Criteria"),
        help_text=gettext_lazy("Each by its newest words, which never change afterwards."),
    )  # fmt: skip

    class Meta:
        model = Tournament
        fields = (
            "name", "question", "overlap", "seed", "gold_set", "gold_every", "picks", "reveals", "warns", "is_private",
        )  # fmt: skip
        labels = {  # noqa: RUF012
            "name": gettext_lazy("Name"),
            "question": gettext_lazy("Question"),
            "overlap": gettext_lazy("People a pair"),
            "seed": gettext_lazy("Seed"),
            "gold_set": gettext_lazy("Gold set"),
            "gold_every": gettext_lazy("One gold pair in"),
            "picks": gettext_lazy("Next pair"),
            "reveals": gettext_lazy("Show voters whose answers they were, after their own vote"),
            "warns": gettext_lazy("Blur answers until the voter asks to see them"),
            "is_private": gettext_lazy("Only I may see it"),
        }
        help_texts = {  # noqa: RUF012
            "question": gettext_lazy("What it is to find out. Voters do not see it."),
            "overlap": gettext_lazy("Two or more tell how far people agree."),
            "seed": gettext_lazy("Decides prompts, order and sides."),
            "gold_set": gettext_lazy("Pairs whose better answer is known, to see how carefully people vote."),
            "gold_every": gettext_lazy("15 is about 7 in a hundred."),
            "picks": gettext_lazy("The second gained nothing in replays of fewer than 400 votes."),
        }
        widgets = {"question": forms.Textarea(attrs={"rows": 2})}  # noqa: RUF012

    def __init__(self, *args: Any, person: Person, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["seed"].initial = 0
        self.fields["picks"].choices = list(PICKS.items())  # type: ignore[attr-defined]
        # Who says nothing gets what most want.
        self.fields["picks"].required = False
        self.fields["criteria"].initial = newest_rubrics(person).filter(criterion__owner=None)
        self.fields["criteria"].queryset = newest_rubrics(person)  # type: ignore[attr-defined]
        self.fields["gold_set"].queryset = GoldSet.objects.visible_to(person).order_by("name")  # type: ignore[attr-defined]
        for name, low, high in (("overlap", 1, OVERLAP_AT_MOST), ("gold_every", 2, 1000)):
            self.fields[name].validators += [MinValueValidator(low), MaxValueValidator(high)]
            self.fields[name].widget.attrs |= {"min": low, "max": high}

    def clean_picks(self) -> str:
        """Balanced, where nothing is said."""
        return self.cleaned_data["picks"] or Tournament.Picks.BALANCED


class InvitationForm(forms.Form):
    """Who is to have a link."""

    names = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 3}), label=gettext_lazy("Names, one a line"),
        help_text=gettext_lazy("At most %(n)s at a time. Voters never see each other's.") % {"n": AT_MOST},
    )  # fmt: skip
    days = forms.IntegerField(
        min_value=1, max_value=DAYS_AT_MOST, initial=DAYS, label=gettext_lazy("Good for so many days")
    )
