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
    plain,
)
from judging.boards.votes import categories, votes_in_categories
from judging.models import Judge, Rubric, Tournament

JUDGES_OFFERED = 50
LEVELS_OFFERED = ("0.8", "0.9", "0.95", "0.99")
RANGE = gettext_lazy("From {low} to {high}.")


def _of(words: Any, low: float, high: float) -> Any:
    """Return a help text that ends with the valid range."""
    return format_lazy("{words} {range}", words=words, range=format_lazy(RANGE, low=plain(low), high=plain(high)))


def _number(label: Any, words: Any, low: float, high: float, **more: Any) -> forms.FloatField:
    return forms.FloatField(min_value=low, max_value=high, label=label, help_text=_of(words, low, high), **more)


class HowForm(forms.Form):
    """Settings of a board as choices, with the default choices first."""

    whose = forms.ChoiceField(label=gettext_lazy("Whose verdicts"))
    category = forms.ChoiceField(required=False, label=gettext_lazy("Category of prompts"))
    ties = forms.ChoiceField(label=gettext_lazy("Ties"))
    swap = forms.ChoiceField(label=gettext_lazy("Two games of a pair, sides swapped"))
    unit = forms.ChoiceField(label=gettext_lazy("Intervals resample"))
    level = forms.TypedChoiceField(coerce=float, label=gettext_lazy("Level of intervals"))
    anchor = forms.ChoiceField(required=False, label=gettext_lazy("Who stands at the initial rating"))
    prior = _number(
        gettext_lazy("Prior"),
        gettext_lazy("Wins added each way to every pair that met. 0.5 gives everybody a number."),
        *PRIORS,
    )
    init = _number(
        gettext_lazy("Initial rating"), gettext_lazy("The mean stands there, and online Elo begins."), *INITS
    )
    threshold = _number(
        gettext_lazy("Tie threshold"),
        gettext_lazy("Scores that differ by no more are a tie. Empty: as each judge or file had it."),
        *THRESHOLDS,
        required=False,
    )
    k = _number(
        gettext_lazy("K of online Elo"),
        gettext_lazy("Points that one verdict can move. Published tables take 32, or 4."),
        *KS,
    )
    shuffle = forms.IntegerField(
        min_value=SEEDS[0],
        max_value=SEEDS[1],
        label=gettext_lazy("Seed of online Elo"),
        help_text=_of(gettext_lazy("Shuffles the verdicts. −1 takes them in the order they were given in."), *SEEDS),
    )
    failed = forms.ChoiceField(label=gettext_lazy("Failed judgments in online Elo"))
    identical = forms.ChoiceField(label=gettext_lazy("Identical answers"))

    def __init__(self, *args: Any, tournament: Tournament, rubric: Rubric, how: BoardSettings, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        said = how.to_json()
        self.initial = said | {name: plain(value) for name, value in said.items() if isinstance(value, float)}
        for name, choices in _choices(tournament, rubric, how).items():
            self.fields[name].choices = choices  # type: ignore[attr-defined]
        if len(self.fields["category"].choices) < 2:  # type: ignore[attr-defined]
            del self.fields["category"]

    @property
    def how(self) -> BoardSettings:
        """Return the settings that the form holds. Raise ValueError if one is invalid."""
        return BoardSettings.of(self.cleaned_data)


def _choices(tournament: Tournament, rubric: Rubric, how: BoardSettings) -> dict[str, list[tuple[str, str]]]:
    names = tournament.contestants.order_by("place").values_list("name", flat=True)
    levels = dict.fromkeys((*LEVELS_OFFERED, plain(how.level)))
    return {
        "whose": [
            (ALL, gettext("everybody's")), (PEOPLE, gettext("people's")),
            (JUDGES, gettext("all judges' that are no people")),
            *_judges(tournament, how),
        ],
        "category": [("", gettext("all")), *_categories(tournament, rubric)],
        "ties": [
            ("half-win", gettext("half a win for each")),
            ("davidson", gettext("a strength of their own (Davidson; another scale)")),
        ],
        "swap": [
            ("as-is", gettext("every game is a vote")), ("half", gettext("half a vote each")),
            ("tie", gettext("one vote; a tie where they differ")),
            ("consistent", gettext("one vote, where they agree")),
        ],
        "unit": [
            ("prompt", gettext("prompts")), ("annotator", gettext("people and judges")),
            ("both", gettext("prompts, and people and judges")), ("vote", gettext("single votes (too narrow)")),
        ],
        "level": [(one, f"{100 * float(one):g} %") for one in levels],
        "anchor": [("", gettext("nobody: the mean does")), *((name, name) for name in names)],
        "failed": list(zip(FAILED, (gettext("ties, as published"), gettext("left out")), strict=True)),
        "identical": list(zip(IDENTICAL, (gettext("left out"), gettext("one tie a pair")), strict=True)),
    }  # fmt: skip


def _judges(tournament: Tournament, how: BoardSettings) -> list[tuple[str, str]]:
    """Return the choices of the JUDGES_OFFERED judges with the most verdicts.

    The judge that the settings select comes last if it is not one of these. A list of all judges would be too long,
    because an imported file may name thousands.
    """
    there = Judge.objects.filter(verdicts__comparison__tournament=tournament)
    found = list(there.annotate(said=Count("verdicts")).order_by("-said", "name", "pk")[:JUDGES_OFFERED])
    asked = how.whose.judge
    others = [] if asked is None or asked in {one.pk for one in found} else list(there.filter(pk=asked)[:1])
    return [(f"judge-{one.pk}", one.name) for one in (*found, *others)]


def _categories(tournament: Tournament, rubric: Rubric) -> Iterator[tuple[str, str]]:
    """Yield each category with its numbers of prompts and verdicts, the one with the most prompts first."""
    prompts = categories(tournament)
    votes = votes_in_categories(tournament, rubric) if prompts else {}
    for name, count in prompts.items():
        said = ngettext("%(n)s prompt", "%(n)s prompts", count) % {"n": count}
        if votes:
            said += ngettext(", %(n)s verdict", ", %(n)s verdicts", votes.get(name, 0)) % {"n": votes.get(name, 0)}
        yield name, f"{name} ({said})"
