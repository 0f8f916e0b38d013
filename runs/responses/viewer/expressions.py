"""Limits on users' regular expressions, in addition to PostgreSQL's own."""

from __future__ import annotations

import math
import re

from django.utils.translation import gettext

COUNT_PATTERN = re.compile(r"\{(\d{1,9})(?:,(\d{0,9}))?\}")
MAX_REPEATS = 1000
"""Product of all counts. PostgreSQL asks for memory that grows with it: 40 000 are 1.6 GB."""


def complexity_problem(pattern: str) -> str:
    """Return why an expression is too complex, in a sentence; empty if it is not."""
    counts = [int(match[2] or match[1]) for match in COUNT_PATTERN.finditer(pattern)]
    if math.prod(max(1, count) for count in counts) <= MAX_REPEATS:
        return ""
    message = gettext(
        "The repetition counts of a regular expression, as in {1,%(n)s}, must multiply to at most %(most)s."
    )
    return message % {"n": max(counts), "most": MAX_REPEATS}
