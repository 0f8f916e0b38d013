"""Store judgments that were made elsewhere and are imported from files."""

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
COPY judging_verdict (comparison_id, rubric_id, judge_id, voter_id, sample, outcome, score_a, score_b, preference,
length_a, length_b, first, reason, is_blind, key, at) FROM STDIN
"""
"""COPY is ten times as fast as inserts; a file may need a hundred thousand rows."""


@dataclass(frozen=True)
class ImportedVerdict:
    """A judgment of a file, from a's side: by an imported judge, or by a voter with nothing but a name.

    first: the side in first position, "" if that is not known. preference: a's share of a soft preference. sample: the
    number of equal judgments before it in its file.
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
    preference: float | None = None

    @property
    def identity(self) -> tuple[int, int, int | None, int | None, str, int]:
        """Return the key that at most one current verdict has. A voter's key does not depend on the positions."""
        return self.comparison, self.rubric, self.judge, self.voter, self.first if self.judge else "", self.sample

    @property
    def fields(self) -> dict[str, Any]:
        """Return the verdict's values, by column."""
        score_a, score_b = self.scores or (None, None)
        length_a, length_b = self.lengths or (None, None)
        return {
            "outcome": self.outcome.name.lower(), "score_a": score_a, "score_b": score_b,
            "preference": self.preference, "length_a": length_a, "length_b": length_b, "first": self.first,
        }  # fmt: skip


def save_imported_verdicts(verdicts: Sequence[ImportedVerdict]) -> tuple[int, int]:
    """Store judgments of files in their order, and return the numbers (new verdicts, verdicts that replaced others).

    Verdicts that are already stored do not change. No two of the judgments have the same identity.
    """
    is_imported = Q(judge__kind=Judge.Kind.IMPORTED) | Q(voter__imported_name__gt="")
    rows = Verdict.objects.current().filter(is_imported, comparison__in={verdict.comparison for verdict in verdicts})
    stored = {_identity(row): row for row in rows}
    new_verdicts = [
        verdict
        for verdict in verdicts
        if verdict.identity not in stored or verdict.fields.items() - vars(stored[verdict.identity]).items()
    ]
    replaced = [stored[verdict.identity].pk for verdict in new_verdicts if verdict.identity in stored]
    Verdict.objects.filter(pk__in=replaced).update(replaced_at=timezone.now())
    now = timezone.now()
    with connection.cursor() as cursor, cursor.copy(COPY) as copy:
        for verdict in new_verdicts:
            who = (verdict.comparison, verdict.rubric, verdict.judge, verdict.voter, verdict.sample)
            copy.write_row((*who, *verdict.fields.values(), "", True, "", now))
    return len(new_verdicts) - len(replaced), len(replaced)


def _identity(row: Verdict) -> tuple[int, int, int | None, int | None, str, int]:
    first = row.first if row.judge_id else ""
    return row.comparison_id, row.rubric_id, row.judge_id, row.voter_id, first, row.sample
