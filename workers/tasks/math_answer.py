r"""The final answer of a solution.

The final answer of a text is, in this order, unless it is blank:

1. the content of its last \boxed{…} whose brackets close, else of its last \fbox{…} (hendrycks/math,
   `last_boxed_only_string`); a blank box is none; without either, `\boxed 5` counts up to the next $
2. the number after its first #### (openai/grade-school-math, `extract_answer`)
3. its last number: 1,234, 10,\!080, 3/4, 2 3/4, \frac{3}{4}

Commas between groups of three digits are left out of a number. Any other stays, since 3,5 is not 35: such an answer
equals only one that is written like it.

Texts of any length are read in linear time.
"""

from __future__ import annotations

import re

from workers.analysis.right.math_form import last_box, normalise

__all__ = ["closing_bracket", "final_answer", "marked_answer", "normalise"]

HASHES = re.compile(r"#### (-?[0-9.,]+(?:(?: [0-9]+)?/[0-9]+)?)")
TYPESET_GROUP = re.compile(r"(?<=\d)(?:,\\!|\{,\}|\\,)(?=\d{3})")
NUMBER = re.compile(
    r"(?:(?<![\w.)\]}])-)?(?:"
    r"(?:\d{1,40}\s?)?\\[tdc]?frac\s?(?:\{\d{1,40}\}\s?\{\d{1,40}\}|\d\d)"
    r"|(?<![\d/.,])(?:\d{1,40} )?\d{1,40}/\d{1,40}(?![\d/]|\.\d)"
    r"|\d[\d,]*(?:\.\d+)?|(?<!\d)\.\d+)"
)
"""A number with its sign; in 5-3 the hyphen is no sign."""
GROUPED = re.compile(r"[^\d,]?\d{1,3}(?:,\d{3})+(?!\d)[^,]*")


def final_answer(text: str) -> str:
    """Return the final answer of a response; empty if there is none."""
    return marked_answer(text) or _last_number(text)


def marked_answer(text: str) -> str:
    r"""Return the final answer within \boxed{} or after ####; empty if there is none."""
    return last_box(text) or _after_hashes(text)


def closing_bracket(text: str, start: int, brackets: str = "{}") -> int:
    """Return the position of the bracket that closes the one at `start`; -1 if none does."""
    depth = 0
    for match in re.compile(f"[{re.escape(brackets)}]").finditer(text, start):
        depth += 1 if match[0] == brackets[0] else -1
        if not depth:
            return match.start()
    return -1


def _after_hashes(text: str) -> str:
    match = HASHES.search(text)
    return _without_grouping(match[1].rstrip(",")) if match else ""


def _last_number(text: str) -> str:
    last = None
    for match in NUMBER.finditer(TYPESET_GROUP.sub(",", text)):
        last = match
    return _without_grouping(last[0].rstrip(",")) if last else ""


def _without_grouping(number: str) -> str:
    return number.replace(",", "") if GROUPED.fullmatch(number) else number
