"""Form of a board's settings, with the same fields as the board's URL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django import forms
from django.db.models import Count
from django.utils.translation import gettext, ngettext

from judging.boards.setting import Setting, plain_number
from judging.boards.settings import ALL, JUDGES, PEOPLE, SETTINGS, BoardSettings
from judging.boards.votes import categories, votes_in_categories
from judging.models import Judge, Rubric, Tournament

JUDGES_OFFERED = 50
LEVELS_OFFERED = ("0.8", "0.9", "0.95", "0.99")
Choices = Sequence[tuple[str, str]]


class BoardSettingsForm(forms.Form):
    """Settings of a board, with the default choices first."""

    def __init__(
        self, *args: Any, tournament: Tournament, rubric: Rubric, settings: BoardSettings, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        values = settings.to_json()
        self.initial = values | {
            name: plain_number(value) for name, value in values.items() if isinstance(value, float)
        }
        offered = _choices(tournament, rubric, settings)
        self.fields = {name: _field(setting, offered.get(name, ())) for name, setting in SETTINGS.items()}
        if len(offered["category"]) < 2:
            del self.fields["category"]

    @property
    def settings(self) -> BoardSettings:
        """Return the settings that the form holds. Raise ValueError if one is invalid."""
        return BoardSettings.parse(self.cleaned_data)


def _field(setting: Setting, offered: Choices) -> forms.Field:
    """Return the form's field. offered: the choices that this tournament offers, if it decides them."""
    is_required = setting.always_stored and setting.default != ""
    texts: dict[str, Any] = {"label": gettext(setting.title), "required": is_required}
    texts["help_text"] = gettext(setting.help) if setting.help else ""
    if choices := offered or [(value, gettext(title)) for value, title in setting.choices.items()]:
        return forms.ChoiceField(choices=choices, **texts)
    if setting.bounds is None:
        return forms.CharField(max_length=200, **texts)
    low, high = setting.bounds
    limits = gettext("From {low} to {high}.").format(low=plain_number(low), high=plain_number(high))
    texts["help_text"] = f"{texts['help_text']} {limits}"
    if isinstance(setting.default, int):
        return forms.IntegerField(min_value=int(low), max_value=int(high), **texts)
    return forms.FloatField(min_value=low, max_value=high, **texts)


def _choices(tournament: Tournament, rubric: Rubric, settings: BoardSettings) -> dict[str, Choices]:
    """Return the choices of the settings whose choices depend on the tournament or on the present value."""
    names = tournament.contestants.order_by("place").values_list("name", flat=True)
    levels = dict.fromkeys((*LEVELS_OFFERED, plain_number(settings.level)))
    return {
        "whose": [
            (ALL, gettext("all")), (PEOPLE, gettext("voters")),
            (JUDGES, gettext("all judges that are not human")),
            *_judges(tournament, settings),
        ],
        "category": [("", gettext("all")), *_categories(tournament, rubric)],
        "level": [(level, f"{100 * float(level):g} %") for level in levels],
        "anchor": [("", gettext("none: the mean is")), *((name, name) for name in names)],
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
