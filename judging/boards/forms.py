"""Form of a board's settings, with the same fields as the board's URL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms
from django.db.models import Count
from django.utils.text import format_lazy
from django.utils.translation import gettext, gettext_lazy, ngettext

from judging.boards.settings import (
    ALL,
    FAILED,
    IDENTICAL,
    INITS,
    JUDGES,
    KS,
    PEOPLE,
    PRIORS,
    SEEDS,
    THRESHOLDS,
    BoardSettings,
    plain_number,
)
from judging.boards.votes import categories, votes_in_categories
from judging.models import Judge, Rubric, Tournament

JUDGES_OFFERED = 50
LEVELS_OFFERED = ("0.8", "0.9", "0.95", "0.99")
RANGE = gettext_lazy("From {low} to {high}.")


def _with_range(help_text: Any, low: float, high: float) -> Any:
    """Return a help text that ends with the valid range."""
    return format_lazy(
        "{words} {range}", words=help_text, range=format_lazy(RANGE, low=plain_number(low), high=plain_number(high))
    )


def _number(label: Any, help_text: Any, low: float, high: float, **more: Any) -> forms.FloatField:
    return forms.FloatField(
        min_value=low, max_value=high, label=label, help_text=_with_range(help_text, low, high), **more
    )


class BoardSettingsForm(forms.Form):
    """Settings of a board as choices, with the default choices first."""

    whose = forms.ChoiceField(label=gettext_lazy("Verdicts of"))
    category = forms.ChoiceField(required=False, label=gettext_lazy("Category of prompts"))
    ties = forms.ChoiceField(label=gettext_lazy("Ties"))
    swap = forms.ChoiceField(label=gettext_lazy("Two games of a pair with swapped sides"))
    unit = forms.ChoiceField(label=gettext_lazy("Intervals are clustered by"))
    level = forms.TypedChoiceField(coerce=float, label=gettext_lazy("Level of intervals"))
    anchor = forms.ChoiceField(required=False, label=gettext_lazy("Contestant at the initial rating"))
    prior = _number(
        gettext_lazy("Prior"),
        gettext_lazy("Wins added in both directions to every pair that met. 0.5 gives every contestant a rating."),
        *PRIORS,
    )
    init = _number(
        gettext_lazy("Initial rating"), gettext_lazy("The mean of the ratings, and the start of online Elo."), *INITS
    )
    threshold = _number(
        gettext_lazy("Tie threshold"),
        gettext_lazy("Scores that differ by at most this are a tie. Empty: as each judge or file decided."),
        *THRESHOLDS,
        required=False,
    )
    k = _number(
        gettext_lazy("K of online Elo"),
        gettext_lazy("The most points that one verdict can move. Published tables use 32, or 4."),
        *KS,
    )
    shuffle = forms.IntegerField(
        min_value=SEEDS[0],
        max_value=SEEDS[1],
        label=gettext_lazy("Seed of online Elo"),
        help_text=_with_range(gettext_lazy("Shuffles the verdicts. −1 keeps their original order."), *SEEDS),
    )
    failed = forms.ChoiceField(label=gettext_lazy("Failed judgments in online Elo"))
    identical = forms.ChoiceField(label=gettext_lazy("Identical responses"))

    def __init__(
        self, *args: Any, tournament: Tournament, rubric: Rubric, settings: BoardSettings, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        values = settings.to_json()
        self.initial = values | {
            name: plain_number(value) for name, value in values.items() if isinstance(value, float)
        }
        for name, choices in _choices(tournament, rubric, settings).items():
            self.fields[name].choices = choices  # type: ignore[attr-defined]
        if len(self.fields["category"].choices) < 2:  # type: ignore[attr-defined]
            del self.fields["category"]

    @property
    def settings(self) -> BoardSettings:
        """Return the settings that the form holds. Raise ValueError if one is invalid."""
        return BoardSettings.parse(self.cleaned_data)


def _choices(tournament: Tournament, rubric: Rubric, settings: BoardSettings) -> dict[str, list[tuple[str, str]]]:
    names = tournament.contestants.order_by("place").values_list("name", flat=True)
    levels = dict.fromkeys((*LEVELS_OFFERED, plain_number(settings.level)))
    return {
        "whose": [
            (ALL, gettext("all")), (PEOPLE, gettext("voters")),
            (JUDGES, gettext("all judges that are not human")),
            *_judges(tournament, settings),
        ],
        "category": [("", gettext("all")), *_categories(tournament, rubric)],
        "ties": [
            ("half-win", gettext("half a win for each")),
            ("davidson", gettext("their own strength (Davidson; another scale)")),
        ],
        "swap": [
            ("as-is", gettext("every game is a vote")), ("half", gettext("half a vote each")),
            ("tie", gettext("one vote; a tie if they differ")),
            ("consistent", gettext("one vote, only if they agree")),
        ],
        "unit": [
            ("prompt", gettext("prompts")), ("annotator", gettext("voters and judges")),
            ("both", gettext("prompts, and voters and judges")), ("vote", gettext("single votes (too narrow)")),
        ],
        "level": [(level, f"{100 * float(level):g} %") for level in levels],
        "anchor": [("", gettext("none: the mean is")), *((name, name) for name in names)],
        "failed": list(zip(FAILED, (gettext("ties, as published"), gettext("left out")), strict=True)),
        "identical": list(zip(IDENTICAL, (gettext("left out"), gettext("one tie per pair")), strict=True)),
    }  # fmt: skip


def _judges(tournament: Tournament, settings: BoardSettings) -> list[tuple[str, str]]:
    """Return the choices of the JUDGES_OFFERED judges with the most verdicts.

    The judge that the settings select comes last if it is not one of these. A list of all judges would be too long,
    because an imported file may name thousands.
    """
    judges = Judge.objects.filter(verdicts__comparison__tournament=tournament)
    most_active = list(
        judges.annotate(verdict_count=Count("verdicts")).order_by("-verdict_count", "name", "pk")[:JUDGES_OFFERED]
    )
    selected_judge = settings.whose.judge
    others = (
        []
        if selected_judge is None or selected_judge in {judge.pk for judge in most_active}
        else list(judges.filter(pk=selected_judge)[:1])
    )
    return [(f"judge-{judge.pk}", judge.name) for judge in (*most_active, *others)]


def _categories(tournament: Tournament, rubric: Rubric) -> Iterator[tuple[str, str]]:
    """Yield each category with its numbers of prompts and verdicts, the one with the most prompts first."""
    prompts = categories(tournament)
    votes = votes_in_categories(tournament, rubric) if prompts else {}
    for name, count in prompts.items():
        counts = ngettext("%(n)s prompt", "%(n)s prompts", count) % {"n": count}
        if votes:
            counts += ngettext(", %(n)s verdict", ", %(n)s verdicts", votes.get(name, 0)) % {"n": votes.get(name, 0)}
        yield name, f"{name} ({counts})"
