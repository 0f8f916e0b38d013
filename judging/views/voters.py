"""How far voters of a tournament are, and how carefully they vote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Avg, Count, F, Q, QuerySet

from judging.models import Turn, Verdict, Voter


@dataclass(frozen=True)
class Voted:
    """How far a voter is. `right` of `known` gold pairs they judged as was expected.

    `seconds` go by between seeing a pair and a choice, on average.
    """

    voter: Voter
    judged: int
    passed: int
    known: int
    right: int
    seconds: float | None


def voted(people: Sequence[Voter]) -> list[Voted]:
    """Each of these, in their order. Three questions, however many they are, and whoever else votes there."""
    turns = _turns(people)
    verdicts = Verdict.objects.current().filter(voter__in=people)
    pace = dict(verdicts.values_list("voter").annotate(Avg("seconds")).order_by())
    known = _on_gold(verdicts)
    return [
        Voted(one, *turns.get(one.pk, (0, 0)), len(known.get(one.pk, [])), sum(known.get(one.pk, [])), pace.get(one.pk))
        for one in people
    ]


def _turns(people: Sequence[Voter]) -> dict[int, tuple[int, int]]:
    """voter's id -> how many pairs they judged, and how many they passed by."""
    judged = Count("pk", filter=Q(ended_at__isnull=False, is_passed=False))
    passed = Count("pk", filter=Q(is_passed=True))
    rows = Turn.objects.filter(voter__in=people).order_by().values("voter").annotate(judged=judged, passed=passed)
    return {row["voter"]: (row["judged"], row["passed"]) for row in rows}


def _on_gold(verdicts: QuerySet[Verdict]) -> dict[int, list[bool]]:
    """voter's id -> of each gold pair that they judged, whether as was expected."""
    found: dict[int, list[bool]] = {}
    said = verdicts.filter(comparison__gold_pair__isnull=False).exclude(outcome="skip")
    for voter, outcome, slug, expected in said.values_list(
        "voter", "outcome", "rubric__criterion__slug", F("comparison__gold_pair__expected")
    ):
        if slug in expected:
            found.setdefault(voter, []).append(outcome == expected[slug])
    return found
