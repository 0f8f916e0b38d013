"""What a judge said when it was asked the same a second time. It measures the judge; boards do not know of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext_noop as _

from judging.models import Judge, Rubric, Tournament, Verdict
from judging.stats.agreement import Estimate
from judging.stats.agreement.resampling import estimate, share
from judging.stats.votes import COUNTED

NOT_TWICE = _("n/a: nothing was judged twice")
SAID = [outcome.name.lower() for outcome in COUNTED]


@dataclass(frozen=True)
class Repeated:
    """By one rubric: how many questions were asked twice, how many of those have two verdicts, and the share of them
    that are the same, with prompts resampled."""

    rubric: Rubric
    asked: int
    judged: int
    alike: Estimate


def repeated(judge: Judge, tournaments: QuerySet[Tournament]) -> list[Repeated]:
    """By each rubric by which it was asked something twice in one of these tournaments."""
    rows = list(_rows(judge, tournaments))
    rubrics = Rubric.objects.select_related("criterion").in_bulk({row[0] for row in rows})
    return [_of(rubrics[pk], [row for row in rows if row[0] == pk]) for pk in sorted(rubrics)]


def _rows(judge: Judge, tournaments: QuerySet[Tournament]) -> Iterator[tuple[int, int, str, str | None]]:
    """(rubric, prompt, what it said the second time, what it said the first)."""
    current = Verdict.objects.current().filter(judge=judge)
    same = {name: OuterRef(name) for name in ("comparison", "rubric", "first")}
    first = Subquery(current.filter(sample=0, **same).values("outcome")[:1])
    second = current.filter(sample=1, comparison__tournament__in=tournaments).annotate(before=first).order_by("pk")
    yield from second.values_list("rubric", F("comparison__prompt"), "outcome", "before")


def _of(rubric: Rubric, rows: list[tuple[int, int, str, str | None]]) -> Repeated:
    judged = [(prompt, now == before) for _, prompt, now, before in rows if now in SAID and before in SAID]
    tables = np.array([(alike, 1) for _, alike in judged], np.float64).reshape(-1, 2)
    prompts = np.array([prompt for prompt, _ in judged], np.int64)
    return Repeated(rubric, len(rows), len(judged), estimate(tables, prompts, share, NOT_TWICE))
