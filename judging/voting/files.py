"""What was judged elsewhere, and comes in files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from judging.models import Judge, Verdict
from judging.stats.votes import Outcome

COPY = """
COPY judging_verdict (comparison_id, rubric_id, judge_id, voter_id, sample, outcome, score_a, score_b, length_a,
length_b, first, reason, is_blind, key, at) FROM STDIN
"""
"""Ten times as quick as inserts, of which a file may need a hundred thousand."""


@dataclass(frozen=True)
class OfFile:
    """A judgment of a file, from a's side: by an imported judge, or by a person of whom only the name is known.

    first: who stood first, "" where that is not known. sample: how many alike came before it in its file.
    """

    comparison: int
    rubric: int
    judge: int | None
    voter: int | None
    first: str
    sample: int
    outcome: Outcome
    scores: tuple[float, float] | None = None
    lengths: tuple[float, float] | None = None

    @property
    def place(self) -> tuple[int, int, int | None, int | None, str, int]:
        """One current verdict is here at most; a person says it once, wherever the answers stood."""
        return self.comparison, self.rubric, self.judge, self.voter, self.first if self.judge else "", self.sample

    @property
    def said(self) -> dict[str, Any]:
        """What stands there."""
        score_a, score_b = self.scores or (None, None)
        length_a, length_b = self.lengths or (None, None)
        return {
            "outcome": self.outcome.name.lower(), "score_a": score_a, "score_b": score_b,
            "length_a": length_a, "length_b": length_b, "first": self.first,
        }  # fmt: skip


def of_files(said: Sequence[OfFile]) -> tuple[int, int]:
    """Keeps judgments of files, in their order, and tells (how many are new, how many took the place of others).

    What is kept already stays as it is. No two of them have one place.
    """
    elsewhere = Q(judge__kind=Judge.Kind.IMPORTED) | Q(voter__imported_name__gt="")
    rows = Verdict.objects.current().filter(elsewhere, comparison__in={one.comparison for one in said})
    kept = {_place_of(row): row for row in rows}
    fresh = [one for one in said if one.place not in kept or one.said.items() - vars(kept[one.place]).items()]
    replaced = [kept[one.place].pk for one in fresh if one.place in kept]
    Verdict.objects.filter(pk__in=replaced).update(replaced_at=timezone.now())
    now = timezone.now()
    with connection.cursor() as cursor, cursor.copy(COPY) as copy:
        for one in fresh:
            who = (one.comparison, one.rubric, one.judge, one.voter, one.sample)
            copy.write_row((*who, *one.said.values(), "", True, "", now))
    return len(fresh) - len(replaced), len(replaced)


def _place_of(row: Verdict) -> tuple[int, int, int | None, int | None, str, int]:
    first = row.first if row.judge_id else ""
    return row.comparison_id, row.rubric_id, row.judge_id, row.voter_id, first, row.sample
