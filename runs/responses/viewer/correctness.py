"""Correctness of responses: right by the gold measure, only containing the expected answer, or wrong.

`Response.is_right` decides. A response that holds the expected answer without being right has a mark of its own: it
denies the answer, hedges, or names others. A response of which is_right is not known, such as one without an expected
answer, is never wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext_noop as _

from runs.models import Response

RIGHT, CONTAINS, WRONG = "right", "contains", "wrong"
HOLDS_ANSWER = ("exact", "contains")
"""Parts of a score, 0 or 1, of a response that equals the expected answer, or contains it."""
CORRECTNESS_SQL = f"""(CASE WHEN r.is_right THEN '{RIGHT}'
    WHEN {" OR ".join(f"parts -> '{part}' = '1'" for part in HOLDS_ANSWER)} THEN '{CONTAINS}'
    WHEN NOT r.is_right THEN '{WRONG}' END)"""
"""The value that `correctness_of` returns, NULL for an empty one. `r` is the table of responses."""


@dataclass(frozen=True)
class CorrectnessBadge:
    """Badge of a response: a sign and a word, so that colour is never the only mark. `help` explains the word; `short`
    stands for it in narrow columns, if it differs."""

    sign: str
    label: str
    tone: str
    help: str
    short: str = ""


CORRECTNESS = {
    RIGHT: CorrectnessBadge("✓", _("right"), "good", _("The answer that the response commits to is right.")),
    CONTAINS: CorrectnessBadge(
        "◐", _("only contains the expected answer"), "idle",
        _("The response holds the expected answer, but denies it, hedges or gives another answer; or nothing decides "
          "whether it is right."),
        _("contains"),
    ),
    WRONG: CorrectnessBadge("✗", _("wrong"), "bad", _("The response commits to another answer, or to none.")),
}  # fmt: skip
"""Values in addresses and exports -> badges."""


def correctness_of(response: Response) -> str:
    """Return a key of CORRECTNESS; empty if the task has no right answers."""
    if response.is_right:
        return RIGHT
    if any(response.parts.get(part) == 1 for part in HOLDS_ANSWER):
        return CONTAINS
    return WRONG if response.is_right is False else ""


def badge_of(response: Response) -> CorrectnessBadge | None:
    """Return the badge of a response; None if the task has no right answers."""
    return CORRECTNESS.get(correctness_of(response))
