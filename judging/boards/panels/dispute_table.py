"""Contested comparisons as rows, each with the ways to its answers that this person has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext_noop as _

from judging.boards.panels.format import Said
from judging.boards.panels.tables import Names
from judging.models import ChosenPrompt, Contestant, Tournament
from runs.models import Run
from runs.models.experiment import Person
from runs.responses.viewer.columns import SPLIT
from runs.responses.viewer.response_query import TEXT_AT_MOST

KIND_WORDS = {
    "split": _("Split votes"),
    "swapped": _("Changed with the sides"),
    "person": _("People against models"),
    "scorer": _("Scorer against judges"),
}
BEGINNING = 140
"""Letters of a prompt that a row shows."""


def dispute_rows(person: Person, tournament: Tournament, panels: Said, shown: Sequence[Said], names: Names) -> Any:
    """What each says, by prompt and contestants; links only to runs that the person may see now."""
    places = [panels["prompts"][one["prompt"]] for one in shown]
    chosen = tournament.chosen_prompts.filter(place__in=places).select_related("prompt")
    prompts = {one.place: one for one in chosen}
    by_name = {one.name: one for one in tournament.contestants.select_related("run")}
    contestants = [by_name[name] for name in names.contestants]
    seen = Run.objects.visible_to(person).filter(pk__in=[c.run_id for c in contestants if c.run_id])
    ways = _Ways(contestants, set(seen.values_list("pk", flat=True)))
    return [
        {**one, **ways.to(prompts.get(place), one), "names": _two(names, one), "text": _text(prompts.get(place))}
        for one, place in zip(shown, places, strict=True)
    ]


class _Ways:
    """Addresses of answers: of a run's own page of one, and of both beside each other."""

    def __init__(self, contestants: Sequence[Contestant], seen: set[int]) -> None:
        self._contestants, self._seen = contestants, seen

    def to(self, prompt: ChosenPrompt | None, one: Said) -> Mapping[str, Any]:
        """links: an address for each of the two, empty where there is none; both: of the viewer."""
        pair = [self._contestants[one["one"]], self._contestants[one["other"]]]
        if prompt is None or not all(self._is_open(side) for side in pair):
            return {"links": ["", ""], "both": "", "place": None if prompt is None else prompt.place}
        links = [reverse("viewer-response", args=[_uid(side), side.step, prompt.prompt.word]) for side in pair]
        asked = [("run", f"{_uid(side)}@{side.step}") for side in pair]
        query = urlencode([*asked, ("q", prompt.prompt.text.strip()[:TEXT_AT_MOST]), ("where", "prompts")])
        return {"links": links, "both": f"{reverse('viewer')}?{query}", "place": prompt.place}

    def _is_open(self, side: Contestant) -> bool:
        """The viewer shows evaluations alone, and nobody sees a run in the bin."""
        return side.run_id in self._seen and side.split == SPLIT and side.step is not None


def _uid(side: Contestant) -> str:
    assert side.run is not None  # noqa: S101  (only seen ones are asked for)
    return side.run.uid


def _two(names: Names, one: Said) -> tuple[str, str]:
    return names.contestants[one["one"]], names.contestants[one["other"]]


def _text(prompt: ChosenPrompt | None) -> str:
    text = "" if prompt is None else " ".join(prompt.prompt.text.split())
    return text if len(text) <= BEGINNING else f"{text[:BEGINNING]}…"
