"""Whether a text commits to true or false, yes or no."""

from __future__ import annotations

import re
from collections.abc import Iterable

from workers.analysis.right.polarity import alternatives, is_conceded, is_denied, is_retraction, is_supposed
from workers.analysis.right.sentences import Sentence

TRUE, FALSE = frozenset({"true", "yes"}), frozenset({"false", "no"})
PREDICATE = re.compile(
    r"\b(?:(true|correct|accurate)|(false|incorrect|inaccurate|untrue|wrong))\b"
    r"(?=[\"')\]]{0,3}(?:$|[,;:(.!]|\s(?:because|since|as|in|for|when|if|that|and|but|or|statement|answer)\b|\s-|/))"
)
"""A word that ends a statement; before a noun, as in "a false dichotomy", it is none."""
REPLY = re.compile(
    r"[\"'(]{0,3}(?:(?:wait|sorry|oops|actually|i mean|the answer is|answer)[,.:!]?\s)?[\"'(]{0,3}"
    r"(?:(yes|yeah|yep|true|correct)|(no|nope|false|incorrect))\b(?!\s+\w+\s+\w)"
)
WORD = re.compile(r"[^\W\d_]+")
BOTH = TRUE | FALSE | {"and", "or"}
NEITHER = re.compile(r"\b(?:neither|nor)\b")
"""A reply that opens a sentence."""


def truth_of(target: str) -> bool | None:
    """Return the truth value that an expected answer in normal form stands for; None if it is another answer."""
    return True if target in TRUE else False if target in FALSE else None


def committed_truth(sentences: Iterable[Sentence]) -> bool | None:
    """Return the truth value that the sentences, in normal form, commit to last; None if to nothing."""
    last: bool | None = None
    for number, sentence in enumerate(sentences):
        if sentence.is_question:
            continue
        if is_retraction(sentence.text) and number and last is not None:
            last = None if last is False else False
        event = _sentence_truth(sentence.text)
        last = last if event is None else event[0]
    return last


def _sentence_truth(text: str) -> tuple[bool | None] | None:
    """Return the truth value of the last statement of a sentence, (None,) if it offers both; None without any."""
    last: tuple[bool | None] | None = None
    words = set(WORD.findall(text))
    if words <= BOTH and words & TRUE and words & FALSE:
        return (None,)
    if reply := REPLY.match(text):
        last = (None if alternatives("", text[reply.end() :]) else reply[1] is not None,)
    for match in PREDICATE.finditer(text):
        before, after = text[: match.start()], text[match.end() :]
        if is_supposed(before) or is_conceded(before):
            continue
        if alternatives(before, after) or NEITHER.search(before):
            last = (None,)
        else:
            last = ((match[1] is not None) != is_denied(before, after),)
    return last
