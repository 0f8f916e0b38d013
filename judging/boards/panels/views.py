"""Show reasons to doubt a board's numbers, by one criterion: the page, and the part that waits for its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse, JsonResponse
from django.template.defaultfilters import floatformat
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_safe

from judging.access import may_manage
from judging.boards.format import BoardData
from judging.boards.panels.agreement_tables import agreement_context, scorer_context
from judging.boards.panels.disputes import remove_contested
from judging.boards.panels.snapshots import PanelSnapshot, claim_panels, compute_panels, stored_panels
from judging.boards.panels.tables import Names, length_context, policies_context, position_context, ties_context
from judging.boards.panels.tasks import work_out_panels
from judging.boards.views import selected_rubric
from judging.http import visible_tournament
from judging.judges import exclusion_reasons
from judging.models import ChosenPrompt, Contestant, Judge, Rubric, Tournament, Verdict, rubrics_of
from runs.http import SignedIn, require_choice
from runs.models import Run
from runs.models.experiment import Person
from runs.responses.viewer.columns import SPLIT
from runs.responses.viewer.response_query import MAX_TEXT_LENGTH
from runs.tables import Column, Link, NumberStyle, Table

KIND_LABELS = {
    "split": _("Split votes"),
    "swapped": _("Position dependent"),
    "person": _("Humans against models"),
    "scorer": _("Scorer against judges"),
}
SCORE_DIFFERENCES = NumberStyle(lambda value: f"{'+' if value > 0 else ''}{floatformat(value, 2)}")
PROMPT_PREVIEW_LENGTH = 140
"""Number of characters of a prompt that a row shows."""
MAX_VERDICTS_IN_REQUEST = 2_000
"""Up to this many verdicts, a request computes the panels itself. With more, a job does, and the page waits for it."""


def contested_table(
    user: Person, tournament: Tournament, panels: BoardData, disputes: Sequence[BoardData], names: Names
) -> Table:
    """Return the contested comparisons `disputes`, with links that lead only to runs that the person may see now."""
    prompt_places = [panels["prompts"][chosen_prompt["prompt"]] for chosen_prompt in disputes]
    chosen_prompts = tournament.chosen_prompts.filter(place__in=prompt_places).select_related("prompt")
    prompts = {prompt.place: prompt for prompt in chosen_prompts}
    by_name = {contestant.name: contestant for contestant in tournament.contestants.select_related("run")}
    contestants = [by_name[name] for name in names.contestants]
    visible_runs = Run.objects.visible_to(user).filter(pk__in=[c.run_id for c in contestants if c.run_id])
    links = _ResponseLinks(contestants, set(visible_runs.values_list("pk", flat=True)))
    columns = (
        Column("prompt", gettext("Prompt"), Link), Column("first", gettext("First response"), Link),
        Column("other", gettext("Second response"), Link), Column("people", gettext("Humans")),
        Column("models", gettext("Models")), Column("apart", gettext("Score difference"), style=SCORE_DIFFERENCES),
    )  # fmt: skip
    rows = []
    for dispute, place in zip(disputes, prompt_places, strict=True):
        prompt = prompts.get(place)
        both, first, other = links.urls(prompt, dispute)
        rows.append((
            _linked(_prompt_label(tournament, prompt), both), _linked(names.contestants[dispute["one"]], first),
            _linked(names.contestants[dispute["other"]], other),
            *(" : ".join(map(str, dispute[side])) for side in ("people", "models")), dispute["apart"],
        ))  # fmt: skip
    return Table(columns, tuple(rows))


def _linked(text: str, url: str) -> Link | str:
    return Link(text, url) if url else text


def _prompt_label(tournament: Tournament, prompt: ChosenPrompt | None) -> str:
    """Return the prompt's text, or its number if readers are warned of its text."""
    if prompt is None:
        return gettext("a removed prompt")
    text = " ".join(prompt.prompt.text.split())
    if tournament.warns or not text:
        return gettext("prompt %(n)s") % {"n": prompt.place + 1}
    return text if len(text) <= PROMPT_PREVIEW_LENGTH else f"{text[:PROMPT_PREVIEW_LENGTH]}…"


class _ResponseLinks:
    """Links to responses: to the page of each response, and to the viewer with both responses."""

    def __init__(self, contestants: Sequence[Contestant], visible_runs: set[int]) -> None:
        self._contestants, self._seen = contestants, visible_runs

    def urls(self, prompt: ChosenPrompt | None, dispute: BoardData) -> tuple[str, str, str]:
        """Return the URL of the viewer with both responses, and a URL for each; "" if there is none."""
        pair = [self._contestants[dispute["one"]], self._contestants[dispute["other"]]]
        if prompt is None or not all(self._is_visible(side) for side in pair):
            return "", "", ""
        first, other = (reverse("viewer-response", args=[_uid(side), side.step, prompt.prompt.word]) for side in pair)
        run_params = [("run", f"{_uid(side)}@{side.step}") for side in pair]
        query = urlencode([*run_params, ("q", prompt.prompt.text.strip()[:MAX_TEXT_LENGTH]), ("where", "prompts")])
        return f"{reverse('viewer')}?{query}", first, other

    def _is_visible(self, side: Contestant) -> bool:
        """Return whether the viewer shows the response: only of an evaluation, and of a run that the user may see."""
        return side.run_id in self._seen and side.split == SPLIT and side.step is not None


def _uid(side: Contestant) -> str:
    assert side.run is not None  # noqa: S101  (only visible contestants get links)
    return side.run.uid


@require_safe
def tournament_panels(request: SignedIn, pk: int) -> HttpResponse:
    """Render the page of panels of one criterion, which `criterion` selects. With `as=json`, return the numbers."""
    tournament = visible_tournament(request, pk)
    rubrics = rubrics_of(tournament)
    if not rubrics:
        return TemplateResponse(request, "judging/boards/panels.html", {"tournament": tournament, "rubrics": []})
    rubric = selected_rubric(request, rubrics)
    snapshot = _hide_contested(request, tournament, _current_panels(tournament, rubric))
    if require_choice(request, "as", ("json",), "") == "json":
        return JsonResponse({"criterion": rubrics[rubric], **_snapshot_json(snapshot)})
    context: dict[str, Any] = {
        "tournament": tournament,
        "rubrics": rubrics,
        "rubric": rubric,
        "criterion": rubrics[rubric],
        "snapshot": snapshot,
    }
    if snapshot is not None and snapshot.panels["votes"]:
        context |= _panels(request, tournament, snapshot.panels)
    context["left_out"] = _left_out(tournament, rubric)
    is_part = request.htmx and request.htmx.target == "panels"
    return TemplateResponse(
        request, "judging/boards/panels.html#panels" if is_part else "judging/boards/panels.html", context
    )


def _current_panels(tournament: Tournament, rubric: Rubric) -> PanelSnapshot | None:
    """Return the stored panels if they are current, else compute them now if there are at most
    MAX_VERDICTS_IN_REQUEST verdicts.

    With more verdicts, start a job for them, unless one was started already, and return the older panels, or None if
    there are none.
    """
    stored = stored_panels(tournament, rubric)
    if stored is not None and stored.is_current:
        return stored
    verdicts = Verdict.objects.rating().filter(comparison__tournament=tournament, rubric=rubric)
    if verdicts.count() <= MAX_VERDICTS_IN_REQUEST:
        return compute_panels(tournament, rubric)
    if claim_panels(tournament, rubric):
        work_out_panels.delay(tournament.pk, rubric.pk)
    return stored


def _hide_contested(request: SignedIn, tournament: Tournament, snapshot: PanelSnapshot | None) -> PanelSnapshot | None:
    """Remove the contested comparisons from the panels for anybody who may still vote on them.

    The panels stay complete if the tournament is closed or the user manages it.
    """
    if snapshot is None or tournament.closed_at is not None or may_manage(request.user, tournament):
        return snapshot
    return replace(snapshot, panels=remove_contested(snapshot.panels))


def _panels(request: SignedIn, tournament: Tournament, panels: dict[str, Any]) -> dict[str, Any]:
    names = Names(tuple(panels["contestants"]), _voter_names(request, tournament))
    return {
        "panels": panels,
        "position": position_context(panels["position"], names),
        "policies": policies_context(panels["policies"]),
        "ties": ties_context(panels["ties"], names),
        "length": length_context(panels["length"], names),
        "agreement": agreement_context(panels["agreement"], names),
        **_scorer(request, panels, names),
        **_contested(request, tournament, panels, names),
    }


def _voter_names(request: SignedIn, tournament: Tournament) -> dict[str, str]:
    """Map "person N" to the voter's name if the user manages the tournament; else return an empty dict."""
    if not may_manage(request.user, tournament):
        return {}
    return {
        f"person {voter.number + 1}": str(voter) for voter in tournament.voters.select_related("user", "invitation")
    }


def _scorer(request: SignedIn, panels: dict[str, Any], names: Names) -> dict[str, Any]:
    scorer_names = [scorer["name"] for scorer in panels["scorers"]]
    if not scorer_names:
        return {"scorers": [], "scorer": None}
    selected_name = require_choice(request, "scorer", scorer_names, scorer_names[0])
    scorer = panels["scorers"][scorer_names.index(selected_name)]
    return {"scorers": scorer_names, "scorer": scorer_context(scorer, names)}


def _contested(request: SignedIn, tournament: Tournament, panels: dict[str, Any], names: Names) -> dict[str, Any]:
    """Return the contested comparisons of the selected kind, and the kinds with their counts.

    For scorers, the comparisons are those of the scorer that the panel of scorers shows.
    """
    kinds = dict(panels["contested"])
    differing = {scorer["name"]: scorer["differing"] for scorer in panels["scorers"]}
    if differing:
        kinds["scorer"] = differing[require_choice(request, "scorer", list(differing), next(iter(differing)))]
    kind = require_choice(request, "contested", list(kinds), "split")
    table = contested_table(request.user, tournament, panels, kinds[kind]["shown"], names)
    shown = ("prompt", "first", "other", "people", "models", *(["apart"] if kind not in panels["contested"] else []))
    return {
        "kinds": [(name, gettext(KIND_LABELS[name]), disputes["all"]) for name, disputes in kinds.items()],
        "kind": kind, "contested_count": kinds[kind]["all"],
        "contested": table.select(*shown),
    }  # fmt: skip


def _left_out(tournament: Tournament, rubric: Rubric) -> list[str]:
    """Return the reasons why verdicts of model judges are left out of these numbers."""
    verdicts = Verdict.objects.filter(comparison__tournament=tournament, rubric=rubric, judge__kind=Judge.Kind.OPENAI)
    # The judges are selected first: the database plans a join of all three badly if there are many verdicts.
    judges = Judge.objects.filter(pk__in=set(verdicts.order_by().values_list("judge", flat=True).distinct()))
    return list(exclusion_reasons(list(judges.order_by("name", "pk")), [rubric], tournament).values())


def _snapshot_json(snapshot: PanelSnapshot | None) -> dict[str, Any]:
    if snapshot is None:
        return {"panels": None, "at": None, "is_current": False}
    return {"panels": snapshot.panels, "at": snapshot.at.isoformat(), "is_current": snapshot.is_current}
