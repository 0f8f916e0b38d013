"""Small sets that questions ask one member of: any member is right where the expected answer is one."""

from __future__ import annotations

import re

ONE_OF = re.compile(r"\b(?:name|give|list|state|tell me|what is|which is|mention)\b.{0,20}?\b(?:one|any|an example)\b")
SETS = {
    frozenset({"primary"}): "red yellow blue green",
    frozenset({"season", "seasons"}): "spring summer autumn fall winter",
    frozenset({"vowel", "vowels"}): "a e i o u",
    frozenset({"planet", "planets"}): "mercury venus earth mars jupiter saturn uranus neptune",
    frozenset({"continent", "continents"}): "africa antarctica asia australia europe oceania",
    frozenset({"weekday", "weekdays", "days"}): "monday tuesday wednesday thursday friday saturday sunday",
    frozenset({"month", "months"}): "january february march april may june july august september october november "
    "december",
}
"""A word of the question -> the members. Primary colours are those of paint or of light."""


def members(target: str, words: frozenset[str], question: str) -> frozenset[str]:
    """Return all right answers to a question that asks for one of a known set; empty for any other question.

    target, question: in normal form; words: those of the question.
    """
    if not ONE_OF.search(question):
        return frozenset()
    for names, listed in SETS.items():
        if names & words and target in listed.split():
            return frozenset(listed.split())
    return frozenset()
