"""Correctness of responses: right, containing the expected answer, or wrong, from the parts that a task records.

A task with right answers records the parts `exact` and `contains`, 0 or 1. Other tasks' responses are neither right nor
wrong, and so is a part with another value, such as half a point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_noop as _

from workers.analysis.answer_texts import ACCURACIES

RIGHT, CONTAINS, WRONG = "right", "contains", "wrong"
EXACT_PART, CONTAINS_PART = ACCURACIES
CORRECTNESS_SQL = f"""(CASE WHEN parts -> '{EXACT_PART}' = '1' THEN '{RIGHT}'
    WHEN parts -> '{CONTAINS_PART}' = '1' THEN '{CONTAINS}'
    WHEN parts -> '{EXACT_PART}' = '0' OR parts -> '{CONTAINS_PART}' = '0' THEN '{WRONG}' END)"""
"""The value that `correctness_of` returns, NULL for an empty one."""


@dataclass(frozen=True)
class CorrectnessBadge:
    """Badge of a response: a sign and a word, so that colour is never the only mark."""

    sign: str
    label: str
    tone: str


CORRECTNESS = {
    RIGHT: CorrectnessBadge("✓", _("right"), "good"),
    CONTAINS: CorrectnessBadge("◐", _("contains the expected answer"), "idle"),
    WRONG: CorrectnessBadge("✗", _("wrong"), "bad"),
}
"""Values in addresses and exports -> badges."""


def correctness_of(parts: Mapping[str, Any]) -> str:
    """Return a key of CORRECTNESS; empty if the task has no right answers."""
    exact, contains = parts.get(EXACT_PART), parts.get(CONTAINS_PART)
    if exact == 1:
        return RIGHT
    if contains == 1:
        return CONTAINS
    return WRONG if exact == 0 or contains == 0 else ""
