"""Show reasons to doubt a board's numbers, by one criterion: the page, and the part that waits for its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_safe

from judging.access import may_look_after
from judging.boards.panels.disputes import untold
from judging.boards.panels.format import Said
from judging.boards.panels.snapshots import PanelSnapshot, claim, kept, work_out
from judging.boards.panels.tables import (
    Names,
    agreement_rows,
    length_rows,
    policy_rows,
    position_rows,
    scorer_rows,
    ties_rows,
)
from judging.boards.panels.tasks import work_out_panels
from judging.boards.views import selected_rubric
from judging.http import visible_tournament
from judging.judges import left_out
from judging.models import ChosenPrompt, Contestant, Judge, Rubric, Tournament, Verdict, rubrics_of
from runs.http import SignedIn, selected
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
"""Number of characters of a prompt that a row shows."""
AT_ONCE = 2_000
"""Up to this many verdicts, a request computes the panels itself. With more, a job does, and the page waits for it."""


def dispute_rows(person: Person, tournament: Tournament, panels: Said, shown: Sequence[Said], names: Names) -> Any:
    """Return the contested comparisons `shown`, each with its prompt's text, its contestants' names and its links.

    Links lead only to runs that the person may see now.
    """
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
    """Links to responses: to the page of each response, and to the viewer with both responses."""

    def __init__(self, contestants: Sequence[Contestant], seen: set[int]) -> None:
        self._contestants, self._seen = contestants, seen

    def to(self, prompt: ChosenPrompt | None, one: Said) -> Mapping[str, Any]:
        """Return `links`, a URL for each response, and `both`, the URL of the viewer; "" if there is none."""
        pair = [self._contestants[one["one"]], self._contestants[one["other"]]]
        if prompt is None or not all(self._is_open(side) for side in pair):
            return {"links": ["", ""], "both": "", "place": None if prompt is None else prompt.place}
        links = [reverse("viewer-response", args=[_uid(side), side.step, prompt.prompt.word]) for side in pair]
        asked = [("run", f"{_uid(side)}@{side.step}") for side in pair]
        query = urlencode([*asked, ("q", prompt.prompt.text.strip()[:TEXT_AT_MOST]), ("where", "prompts")])
        return {"links": links, "both": f"{reverse('viewer')}?{query}", "place": prompt.place}

    def _is_open(self, side: Contestant) -> bool:
        """Return whether the viewer shows the response: only of an evaluation, and of a run that the person sees."""
        return side.run_id in self._seen and side.split == SPLIT and side.step is not None


def _uid(side: Contestant) -> str:
    assert side.run is not None  # noqa: S101  (only seen ones are asked for)
    return side.run.uid


def _two(names: Names, one: Said) -> tuple[str, str]:
    return names.contestants[one["one"]], names.contestants[one["other"]]


def _text(prompt: ChosenPrompt | None) -> str:
    text = "" if prompt is None else " ".join(prompt.prompt.text.split())
    return text if len(text) <= BEGINNING else f"{text[:BEGINNING]}…"


@require_safe
def tournament_panels(request: SignedIn, pk: int) -> HttpResponse:
    """Render the page of panels of one criterion, which `criterion` selects. With `as=json`, return the numbers."""
    found = visible_tournament(request, pk)
    rubrics = rubrics_of(found)
    if not rubrics:
        return TemplateResponse(request, "judging/boards/panels.html", {"tournament": found, "rubrics": []})
    rubric = selected_rubric(request, rubrics)
    now = _told(request, found, _kept(found, rubric))
    if selected(request, "as", ("json",), "") == "json":
        return JsonResponse({"criterion": rubrics[rubric], **_dated(now)})
    context: dict[str, Any] = {
        "tournament": found,
        "rubrics": rubrics,
        "rubric": rubric,
        "criterion": rubrics[rubric],
        "kept": now,
    }
    if now is not None and now.panels["votes"]:
        context |= _panels(request, found, now.panels)
    context["left_out"] = _left_out(found, rubric)
    is_part = request.htmx and request.htmx.target == "panels"
    return TemplateResponse(
        request, "judging/boards/panels.html#panels" if is_part else "judging/boards/panels.html", context
    )


def _kept(found: Tournament, rubric: Rubric) -> PanelSnapshot | None:
    """Return the stored panels if they are current, else compute them now if there are at most AT_ONCE verdicts.

    With more verdicts, start a job for them, unless one was started already, and return the older panels, or None if
    there are none.
    """
    known = kept(found, rubric)
    if known is not None and known.is_current:
        return known
    verdicts = Verdict.objects.rating().filter(comparison__tournament=found, rubric=rubric)
    if verdicts.count() <= AT_ONCE:
        return work_out(found, rubric)
    if claim(found, rubric):
        work_out_panels.delay(found.pk, rubric.pk)
    return known


def _told(request: SignedIn, found: Tournament, now: PanelSnapshot | None) -> PanelSnapshot | None:
    """Remove the contested comparisons from the panels for anybody who may still vote on them.

    The panels stay complete if the tournament is closed or the person manages it.
    """
    if now is None or found.closed_at is not None or may_look_after(request.user, found):
        return now
    return replace(now, panels=untold(now.panels))


def _panels(request: SignedIn, found: Tournament, panels: dict[str, Any]) -> dict[str, Any]:
    names = Names(tuple(panels["contestants"]), _people(request, found))
    return {
        "panels": panels,
        "names": names.contestants,
        "position": position_rows(panels["position"], names),
        "policies": policy_rows(panels["policies"], names),
        "ties": ties_rows(panels["ties"], names),
        "length": length_rows(panels["length"], names),
        "agreement": agreement_rows(panels["agreement"], names),
        **_scorer(request, panels, names),
        **_contested(request, found, panels, names),
    }


def _people(request: SignedIn, found: Tournament) -> dict[str, str]:
    """Map "person N" to the voter's name if the person manages the tournament; else return an empty dict."""
    if not may_look_after(request.user, found):
        return {}
    return {f"person {one.number + 1}": str(one) for one in found.voters.select_related("user", "invitation")}


def _scorer(request: SignedIn, panels: dict[str, Any], names: Names) -> dict[str, Any]:
    known = [one["name"] for one in panels["scorers"]]
    if not known:
        return {"scorers": [], "scorer": None}
    chosen = selected(request, "scorer", known, known[0])
    return {"scorers": known, "scorer": scorer_rows(panels["scorers"][known.index(chosen)], names)}


def _contested(request: SignedIn, found: Tournament, panels: dict[str, Any], names: Names) -> dict[str, Any]:
    """Return the contested comparisons of the selected kind, and the kinds with their counts.

    For scorers, the comparisons are those of the scorer that the panel of scorers shows.
    """
    kinds = dict(panels["contested"])
    known = {one["name"]: one["differing"] for one in panels["scorers"]}
    if known:
        kinds["scorer"] = known[selected(request, "scorer", list(known), next(iter(known)))]
    kind = selected(request, "contested", list(kinds), "split")
    shown = kinds[kind]["shown"]
    return {
        "kinds": [(name, gettext(KIND_WORDS[name]), one["all"]) for name, one in kinds.items()],
        "kind": kind, "all": kinds[kind]["all"],
        "contested": dispute_rows(request.user, found, panels, shown, names),
    }  # fmt: skip


def _left_out(found: Tournament, rubric: Rubric) -> list[str]:
    """Return the reasons why verdicts of model judges are left out of these numbers."""
    verdicts = Verdict.objects.filter(comparison__tournament=found, rubric=rubric, judge__kind=Judge.Kind.OPENAI)
    # First who they are: a join of all three goes astray where verdicts are many.
    judges = Judge.objects.filter(pk__in=set(verdicts.order_by().values_list("judge", flat=True).distinct()))
    return list(left_out(list(judges.order_by("name", "pk")), [rubric], found).values())


def _dated(now: PanelSnapshot | None) -> dict[str, Any]:
    if now is None:
        return {"panels": None, "at": None, "is_current": False}
    return {"panels": now.panels, "at": now.at.isoformat(), "is_current": now.is_current}
