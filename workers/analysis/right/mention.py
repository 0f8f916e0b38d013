"""Find an answer in a text as a word of its own: "8" is in "It is 8." and not in "18", "8.5" or "-8"."""

from __future__ import annotations

import functools
import re

from workers.analysis.right.normal_form import casefolded

# Thai, Japanese, Chinese and Korean write no spaces between words, so next to their letters any position is a word's
# edge.
LETTER = r"[^\W\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
MAX_ANSWER = 1000
"""Characters of an answer up to which its edges are compared; of longer ones only the text is, because a search for
both takes time that grows with the product of the lengths."""


def mentions(text: str, answer: str) -> bool:
    """Return whether `answer` occurs in `text` as whole words, ignoring case. An empty answer occurs nowhere."""
    text, answer = casefolded(text), casefolded(answer.strip())
    if len(answer) > MAX_ANSWER:
        return answer in text
    return bool(answer) and mention_pattern(answer).search(text) is not None


@functools.lru_cache(maxsize=4096)
def mention_pattern(answer: str) -> re.Pattern[str]:
    """Return the pattern of an answer, in normal form and not empty, as a word of its own."""
    before, after = rf"(?<!{LETTER})", rf"(?!{LETTER})"
    if answer[0].isdigit():
        before += r"(?<!\d[.,])(?<!^[-\u2212])(?<!\s[-\u2212])"
    if answer[-1].isdigit():
        after += r"(?![.,]\d)"
    return re.compile(before + re.escape(answer) + after)
