"""Words by which judges give a verdict, and numerals by which they give a score."""

from __future__ import annotations

import re
from typing import Any

from judging.model_judge.rubric import Rubric
from judging.stats.votes import Outcome

MAX_WORDS_LENGTH = 80
DECORATION = " \t\n*_`#~\"'“”‘’"
NOUN = r"(?:assistant|answer|response|model|output|option|candidate|reply|completion)"
DEGREE = r"(?:slightly|marginally|somewhat|clearly|significantly|much|far|a\ bit|a\ little|strictly)"
QUALITY = r"(?:better|best|superior|stronger|preferred|preferable|the\ winner|the\ better\ (?:one|answer|response))"
THAN = rf"(?:\ than\ (?:the\ )?(?:{NOUN}\ )?(?:[AB]|other(?:\ one)?))?"
SIDE = (
    rf"(?:the\ )?(?:{NOUN}[ _:]{{0,2}})?[(\[]{{0,2}}(?P<side>[AB])[)\]]{{0,2}}"
    rf"(?:\ is\ (?:{DEGREE}\ )?{QUALITY}{THAN}|\ wins)?"
)
ORDER = r"[(\[]{0,2}(?P<left>[AB])\ ?(?P<sign>>{1,3}|<{1,3}|={1,2}|≈)\ ?(?P<right>[AB])[)\]]{0,2}"
BOTH_BAD = r"(?P<both_bad>(?:both(?:\ are)?[ _]?bad|tie\ ?\(both[ _]?bad\)))"
TIE = (
    r"(?P<tie>\[{0,2}(?:it\ is\ |it's\ )?(?:an?\ )?(?:tie|draw)\]{0,2}|tied|equal|equivalent|equally\ (?:good|bad)"
    r"|(?:they|both)\ are\ (?:equal|equivalent|equally\ (?:good|bad)|tied)|neither|no\ preference|no\ winner)"
)
WORDS = re.compile(rf"(?:{ORDER}|{BOTH_BAD}|{TIE}|{SIDE})", re.IGNORECASE)
ENDING = re.compile(r"[.!;*_`\"'”\s]{0,6}")
FOLLOWING = re.compile(r"\s{0,3}(?:[.!;:(—–*`\"'”\n]|-\s|,?\s{0,2}(?:because|since|as|due\sto)\b|$)", re.IGNORECASE)
"""Text after a verdict on its line: its end, a remark or its reason. `A and B` and `A, but` are no verdicts."""
LETTER = re.compile(r"\b[AB]\b")
SPACES = re.compile(r"\s+")
SIDES = {"a": Outcome.A, "b": Outcome.B}
NUMERAL = r"[-+]?\d{1,400}(?:\.\d{0,400})?(?:e[-+]?\d{1,4})?"
FRACTION = r"\s{0,2}(?:/|out\sof)\s{0,2}"
SCORE = re.compile(rf"(?P<score>{NUMERAL})(?:{FRACTION}(?P<highest>{NUMERAL}))?", re.IGNORECASE | re.ASCII)


def storable(value: object) -> str:
    """Return the value as text that can be stored: lone surrogates become `?`, and NULs become U+FFFD."""
    return str(value).encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def parse_verdict(text: str) -> Outcome | None:
    """Return the outcome of words that give a verdict and nothing else, such as `Answer A`, `b.` or `[[A>B]]`; None for
    other words."""
    words = SPACES.sub(" ", text[: 2 * MAX_WORDS_LENGTH].strip(DECORATION))
    match = WORDS.match(words)
    if match is None or len(text) > 2 * MAX_WORDS_LENGTH or not ENDING.fullmatch(words, match.end()):
        return None
    return _outcome(match)


def parse_explained_verdict(text: str) -> Outcome | None:
    """Return the outcome of words that give a verdict, and of such words with a remark that names no other response,
    such as `B (Answer B)`; None for other words."""
    outcome = parse_verdict(text)
    if outcome is None and len(text) <= 2 * MAX_WORDS_LENGTH:
        outcome = parse_opening_verdict(text)
        letters = {SIDES[letter.lower()] for letter in LETTER.findall(text)}
        outcome = outcome if letters <= {outcome} else None
    return outcome


def parse_opening_verdict(line: str) -> Outcome | None:
    """Return the outcome of a line that begins with a verdict, which a reason may follow; None for other lines."""
    words = line.strip(DECORATION)[:MAX_WORDS_LENGTH]
    match = WORDS.match(words)
    return _outcome(match) if match and FOLLOWING.match(words, match.end()) else None


def _outcome(match: re.Match[str]) -> Outcome | None:
    if match["both_bad"]:
        return Outcome.BOTH_BAD
    if match["tie"]:
        return Outcome.TIE
    if match["side"]:
        return SIDES[match["side"].lower()]
    left, right = SIDES[match["left"].lower()], SIDES[match["right"].lower()]
    if left is right:
        return None
    return Outcome.TIE if match["sign"][0] in "=≈" else left if match["sign"][0] == ">" else right


def parse_score(value: Any, rubric: Rubric) -> float:
    """Return a score of the rubric's scale: a number, or a text such as `8` or `8/10` if the scale ends at 10.

    Raise ValueError for other values. Nothing is clamped or rescaled.
    """
    number = _number(value, rubric)
    # Rejects NaN too, which is read as a number.
    if not rubric.holds(number):
        raise ValueError(f"a score must be from {rubric.lowest:g} to {rubric.highest:g}, not {str(value)[:40]}")
    return float(number)


def _number(value: Any, rubric: Rubric) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    match = SCORE.fullmatch(value.strip(DECORATION).removesuffix(".")) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"a score must be a number, not {storable(value)[:40]!r}")
    if match["highest"] and float(match["highest"]) != rubric.highest:
        raise ValueError(f"a score is out of {match['highest'][:40]}, but the scale ends at {rubric.highest:g}")
    return float(match["score"])
