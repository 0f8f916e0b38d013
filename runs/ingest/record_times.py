"""Report records with times that are no Unix seconds. The records are stored as they are, so that nothing is lost."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from runs.ingest.columnar import Columns
from runs.metrics import are_times
from runs.models import Attempt, Origin
from workers.config import Problem
from workers.records import Line
from workers.records.times import describe_bad_time, is_time, likely_unit

MAX_NAMED = 20
"""Records of a push that are named one by one; the others are counted."""
STORED = "the record is stored, but its time is unknown"
BadTime = tuple[int, float]
"""(seq of a record, its number that is no time)."""


def bad_times(pushed: Sequence[Line] | Columns) -> list[BadTime]:
    """Return the records with times that are no Unix seconds, in their order."""
    if not isinstance(pushed, Columns):
        return [(line.seq, line.t) for line in pushed if not is_time(line.t)]
    t = pushed.points.t
    return [(pushed.first_seq + row, float(t[row])) for row in np.flatnonzero(~are_times(t)).tolist()]


def time_problems(pushed: Sequence[Line] | Columns) -> list[Problem]:
    """Return a problem for each of the first MAX_NAMED records with such a time, and one that counts the others.

    Its path is the line of the record in the push, counted from 1, or the entry of the column t, counted from 0.
    """
    if isinstance(pushed, Columns):
        t = pushed.points.t
        places = [(f"t.{row}", float(t[row])) for row in np.flatnonzero(~are_times(t)).tolist()]
    else:
        places = [(f"line {number}", line.t) for number, line in enumerate(pushed, 1) if not is_time(line.t)]
    problems = [Problem(path, f"{describe_bad_time(t)}: {STORED}") for path, t in places[:MAX_NAMED]]
    if rest := len(places) - len(problems):
        problems.append(Problem("t", f"{rest} more records have no time in Unix seconds"))
    return problems


def warn_of_times(attempt: Attempt, epoch: int, bad: Sequence[BadTime], *, is_record_file: bool = False) -> None:
    """Store a warning with the first record for each likely unit, once for the file of an epoch: a program that sends
    such times sends them with every record. Readers of files that hold no records give NaN after a remark of their own.
    """
    first: dict[str, BadTime] = {}
    for seq, t in bad:
        if attempt.origin == Origin.IMPORT and not is_record_file and math.isnan(t):
            continue
        first.setdefault(likely_unit(t), (seq, t))
    for unit, (seq, t) in first.items():
        subject = f"Times of records.{epoch}.jsonl {f'look like {unit}, not' if unit else 'are no'} Unix seconds"
        if not attempt.events.filter(why__startswith=subject).exists():
            attempt.note(
                f"{subject}, first at seq {seq}: {t:.15g}. The records are stored, but their times are unknown, so "
                "charts by time omit them",
                "warning",
            )
