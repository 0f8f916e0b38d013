"""Page of a run's training completions: the groups of a step, with advantages, and why completions were discarded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, FloatField, Q, QuerySet, Window
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, RowNumber
from django.http import HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_safe

from runs.http import SignedIn, UnknownChoice, must_be_one_of, page_of, require_choice, visible_run
from runs.models import TRAINING, Prompt, Response, Run
from runs.responses.viewer.views import is_covered

GROUPS_PER_PAGE = 6
MAX_MEMBERS = 64
"""Completions of a group that the page shows: those with the highest advantages."""
REASONS = {
    "discarded/zero_variance": _("all rewards of the group are equal"),
    "discarded/truncated": _("cut off at the maximum length"),
    "discarded/off_policy": _("too far from the policy that sampled it"),
    "discarded/importance_ratio": _("importance ratio outside its limits"),
}
"""Parts of a completion that moved nothing, and the reason in words."""
FILTERS = {
    "all": _("all groups"),
    "discarded": _("groups with discarded completions"),
    "used": _("groups without discarded completions"),
}


@dataclass(frozen=True)
class Completion:
    """A completion, the numbers that training gave it (None if unknown), and why it was discarded."""

    response: Response
    advantage: float | None
    log_prob: float | None
    reasons: list[str]


@dataclass(frozen=True)
class CompletionGroup:
    """The completions of one prompt that were compared with each other, the highest advantage first.

    `number` counts the groups of the step from 0; None if it was not recorded. `n` counts all members, of which
    `completions` are the first MAX_MEMBERS.
    """

    prompt: Prompt
    number: int | None
    n: int
    completions: list[Completion]

    @property
    def hidden(self) -> int:
        """Return the number of members that are not shown."""
        return self.n - len(self.completions)


@require_safe
def run_completions(request: SignedIn, uid: str) -> HttpResponse:
    """Return the groups of the requested step, else of the last recorded one."""
    run = visible_run(request, uid)
    return TemplateResponse(request, "responses/completions.html", {"run": run, **_context(request, run)})


def has_completions(run: Run) -> bool:
    """Return whether any training completion of the run is stored. One query."""
    return _completions(run).exists()


def _context(request: SignedIn, run: Run) -> dict[str, Any]:
    steps = list(_completions(run).order_by("step").values_list("step", flat=True).distinct())
    show = require_choice(request, "show", FILTERS, "all")
    context = {"steps": steps, "show": show, "show_choices": {name: gettext(words) for name, words in FILTERS.items()}}
    if not steps:
        return context
    step = _step(request, steps)
    rows = _completions(run).filter(step=step)
    page = page_of(request, _groups(rows, show), GROUPS_PER_PAGE)
    groups = _members(rows, list(page))
    responses = [completion.response for group in groups for completion in group.completions]
    return context | {
        "step": step, "groups": groups, "page": page, **_discards(rows),
        "is_covered": any(r.cost is not None and r.words for r in responses) and is_covered(request),
    }  # fmt: skip


def _completions(run: Run) -> QuerySet[Response]:
    # After a resume a step may have been done twice: the later one counts.
    return Response.objects.filter(run=run, split=TRAINING, is_superseded=False)


def _step(request: SignedIn, steps: Sequence[int]) -> int:
    by_name = {str(step): step for step in steps}
    name = request.GET.get("step", "")
    if name and name not in by_name:
        raise UnknownChoice(must_be_one_of("step", list(by_name), name))
    return by_name[name] if name else steps[-1]


def _part(name: str) -> Cast:
    return Cast(KeyTextTransform(name, "parts"), FloatField())


def _groups(rows: QuerySet[Response], show: str) -> QuerySet[Any, Any]:
    """Return the group, the prompt and the number of completions of each group, in the order of the step."""
    is_discarded = Q(parts__has_any_keys=list(REASONS))
    groups = rows.annotate(group=_part("group")).order_by().values("group", "prompt")
    groups = groups.annotate(n=Count("pk"), discarded=Count("pk", filter=is_discarded))
    if show != "all":
        groups = groups.filter(discarded__gt=0) if show == "discarded" else groups.filter(discarded=0)
    return groups.order_by("group", "prompt")


def _members(rows: QuerySet[Response], groups: Sequence[dict[str, Any]]) -> list[CompletionGroup]:
    """Return these groups with their completions. One query."""
    place = Window(
        RowNumber(), partition_by=[F("group"), F("prompt")], order_by=[F("advantage").desc(nulls_last=True), "sample"]
    )
    numbers = [group["group"] for group in groups if group["group"] is not None]
    completions = (
        rows.annotate(group=_part("group"), advantage=_part("advantage"), log_prob=_part("log_prob"))
        .filter(Q(group__in=numbers) | Q(group__isnull=True), prompt__in=[group["prompt"] for group in groups])
        .annotate(place=place)
        .filter(place__lte=MAX_MEMBERS)
        .select_related("prompt")
        .order_by("place")
    )
    members: dict[tuple[float | None, int], list[Any]] = {}
    for row in completions:
        members.setdefault((row.group, row.prompt_id), []).append(row)
    return [_group(group, members[group["group"], group["prompt"]]) for group in groups]


def _group(group: dict[str, Any], rows: Sequence[Any]) -> CompletionGroup:
    number = None if group["group"] is None else int(group["group"])
    completions = [Completion(row, row.advantage, row.log_prob, _reasons(row)) for row in rows]
    return CompletionGroup(rows[0].prompt, number, group["n"], completions)


def _reasons(row: Response) -> list[str]:
    return [gettext(words) for name, words in REASONS.items() if row.parts.get(name)]


def _discards(rows: QuerySet[Response]) -> dict[str, Any]:
    """Return the number of completions of the step, of discarded ones, and of those for each reason. One query."""
    counts = {f"r{i}": Count("pk", filter=Q(parts__has_key=name)) for i, name in enumerate(REASONS)}
    result = rows.aggregate(
        total=Count("pk"), discarded=Count("pk", filter=Q(parts__has_any_keys=list(REASONS))), **counts
    )
    reasons = [(gettext(words), result[f"r{i}"]) for i, words in enumerate(REASONS.values()) if result[f"r{i}"]]
    return {"total": result["total"], "discarded": result["discarded"], "discard_reasons": reasons}
