"""The categories of a tournament's prompts, which boards may be of."""

from __future__ import annotations

from django.db.models import Count, F, Func

from judging.boards.settings import USUAL
from judging.models import Rubric, Snapshot, Tournament


def categories(tournament: Tournament) -> dict[str, int]:
    """category -> how many of its prompts have it, the most first. They overlap."""
    named = tournament.chosen_prompts.order_by().annotate(name=Func(F("categories"), function="unnest"))
    counted = named.values("name").annotate(prompts=Count("pk")).order_by("-prompts", "name")
    return dict(counted.values_list("name", "prompts"))


def votes_in_categories(tournament: Tournament, rubric: Rubric) -> dict[str, int]:
    """category -> how many votes counted in it when the usual board was worked out last; nothing where it never was."""
    kept = Snapshot.objects.filter(tournament=tournament, rubric=rubric, asked=USUAL.to_json()).order_by("-at", "-pk")
    found = kept.values_list("board__categories", flat=True).first()
    if not found:
        return {}
    return {one["category"]: one["votes"] for one in found["shown"]} | {
        name: votes for name, _, votes in found["others"]
    }
