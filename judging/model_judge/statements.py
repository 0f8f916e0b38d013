"""Statements of a judge: what each JSON object and each passage of a reply states about the verdict, unchecked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from judging.model_judge.verdict_words import FRACTION, NUMERAL, parse_opening_verdict, parse_verdict, storable
from judging.stats.votes import Outcome

MAX_NESTING = 8
MAX_SCORES = 100
"""Scores of each response that are combined, if a text states more of them."""
WORD = re.compile(r"[a-z]+|[A-Z]+(?![a-z])|[A-Z][a-z]+")
FILLER = {
    "ai", "answer", "assistant", "candidate", "completion", "final", "for", "model", "my", "of", "option", "output",
    "overall", "reply", "response", "the", "total",
}  # fmt: skip
"""Words of keys that say nothing about what the value is."""
SCORE = {"grade", "mark", "points", "rating", "ratings", "score", "scores"}
VERDICT = {
    "best", "better", "choice", "decision", "judgement", "judgment", "preference", "preferred", "verdict", "winner",
}  # fmt: skip
REASONING = {
    "analysis", "comment", "evaluation", "explanation", "feedback", "justification", "rationale", "reason",
    "reasoning", "reasons", "thoughts",
}  # fmt: skip
BOTH_BAD = ({"both", "bad"}, {"bothbad"})
BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}

VALUE = rf"{NUMERAL}(?:{FRACTION}{NUMERAL})?"
DOUBLE_BRACKETS = re.compile(r"\[\[([^\[\]]{1,80})\]\]")
SCORE_PAIR = re.compile(rf"\s{{0,3}}({VALUE})\s{{0,3}},\s{{0,3}}({VALUE})\s{{0,3}}", re.IGNORECASE)
TAGGED = re.compile(
    r"<(answer|verdict|winner|result|choice|decision|preference|judge?ment)>([^<]{1,80})</\1>", re.IGNORECASE
)
BOXED = re.compile(r"\\boxed\s?\{(?:\\{1,2}text[a-z]{0,4}\{)?([^{}]{1,80})\}")
RESULT = re.compile(r"\[RESULT\][ \t]{0,3}:?([^\n]{1,80})", re.IGNORECASE)
LABEL_START = (
    r"(?:^[ \t]{0,8}|[.!?;][ \t]{1,3})[#*_\-`]{0,4}[ \t]?"
    r"(?:(?:my|the|our|final|overall|so|therefore|thus|hence),?[ \t]){0,4}"
)
LABEL_END = r"(?:[*_`]{0,3}[ \t]{0,3}[:=][*_`]{0,3}|[ \t]is:?)[ \t]{0,3}(?P<words>[^\n]{1,120})"
LABEL = re.compile(
    rf"{LABEL_START}(?:verdict|winner|decision|judge?ment|preference|preferred(?:\s(?:answer|response|one))?"
    rf"|(?:better|best)(?:\s(?:answer|response|assistant|model|one))?){LABEL_END}",
    re.IGNORECASE | re.MULTILINE,
)
FINAL_ANSWER = re.compile(rf"{LABEL_START}(?:choice|answer){LABEL_END}", re.IGNORECASE | re.MULTILINE)
LINE_OF_BOTH = re.compile(r"^[ \t]{0,8}both[ _]bad[ \t]?[:=][ \t]?(?P<value>true|false|yes|no)\b", re.I | re.MULTILINE)
LINE_A = re.compile(
    rf"\b(?:assistant|answer|response|model|score|rating)[\s_]{{1,3}}A\b(?:'s)?(?:\s(?:score|rating))?[*_`\"']{{0,4}}"
    rf"\s{{0,3}}[:=]\s{{0,3}}[*_`\"']{{0,4}}\s{{0,3}}({VALUE})",
    re.IGNORECASE | re.ASCII,
)
LINE_B = re.compile(LINE_A.pattern.replace(r"}A\b", r"}B\b"), re.IGNORECASE | re.ASCII)

MEMBER = re.compile(r"""["'](?:verdict|score_[ab])["']\s{0,3}:""", re.IGNORECASE)
"""A member of an object with a verdict, as text."""


@dataclass(frozen=True)
class Statement:
    """Verdict and scores at one position of a reply, unchecked, as the reply has them. both_bad: None if not stated."""

    verdict: Any = None
    scores: tuple[Any, Any] | None = None
    both_bad: bool | None = None
    reasoning: str = ""

    @property
    def content(self) -> str:
        """Return text that is equal for equal statements, whatever their reasons."""
        return repr((self.verdict, self.scores, self.both_bad))


def object_statements(value: Any, depth: int = 0) -> Iterator[Statement]:
    """Yield the statements of a JSON value.

    Scores that are nested in an object with a verdict are parts of its grade, such as scores by aspect, and no
    statement. A nested verdict is one.
    """
    if depth > MAX_NESTING:
        return
    own = list(_own_statements(value)) if isinstance(value, Mapping) else []
    yield from own
    entries = value.values() if isinstance(value, Mapping) else value
    for entry in entries:
        if isinstance(entry, Mapping | list):
            for inner in object_statements(entry, depth + 1):
                if not own or inner.verdict is not None:
                    yield inner


def is_statement_key(key: str) -> bool:
    """Return whether an object with this key is a judge's statement."""
    words = _words(key)
    return words in BOTH_BAD or bool(words & (VERDICT | REASONING)) or bool(words & SCORE)


def holds_members(value: Mapping[str, Any]) -> bool:
    """Return whether an object without a statement has a text in which members of one are."""
    texts = [entry for entry in value.values() if isinstance(entry, str)]
    return any(map(MEMBER.search, texts)) and not any(object_statements(value))


def _own_statements(value: Mapping[str, Any]) -> Iterator[Statement]:
    """Yield the object's own statement; one more for each further key with a verdict."""
    fields = [(_words(key), entry) for key, entry in value.items()]
    verdicts = [(words, entry) for words, entry in fields if len(words) == 1 and words <= VERDICT]
    verdicts = [(words, entry) for words, entry in verdicts if not isinstance(entry, Mapping)]
    scores = _scores(fields, has_verdict=bool(verdicts))
    if not verdicts and scores is None:
        return
    both_bad = next((_boolean(entry) for words, entry in fields if words in BOTH_BAD), None)
    reasoning = next((_text(entry) for words, entry in fields if words & REASONING), "")
    primary = next((entry for words, entry in verdicts if words == {"verdict"}), verdicts[0][1] if verdicts else None)
    yield Statement(primary, scores, both_bad, reasoning)
    for _, entry in verdicts:
        if entry is not primary and isinstance(entry, str) and parse_verdict(entry) is not None:
            yield Statement(entry)


def _words(key: str) -> set[str]:
    return {word.lower() for word in WORD.findall(key[:80])} - FILLER


def _scores(fields: list[tuple[set[str], Any]], *, has_verdict: bool) -> tuple[Any, Any] | None:
    """Return the scores of both responses: of score_a and score_b, or of an object or a list of scores.

    Numbers of a and b are scores next to a verdict. Without one, they may be of an example that a judge quotes.
    """
    sides: dict[str, Any] = {}
    for words, entry in fields:
        if words and words <= SCORE and isinstance(entry, Mapping | list):
            nested = [(_words(key), own) for key, own in entry.items()] if isinstance(entry, Mapping) else []
            sides |= _sides(nested, needs_score=False) if nested else dict(zip("ab", entry, strict=False))
    sides |= _sides(fields, needs_score=True)
    bare = _sides(fields, needs_score=False) if has_verdict and not sides else {}
    if len(bare) == 2 and all(isinstance(own, int | float) for own in bare.values()):
        sides = bare
    both = sides.get("a"), sides.get("b")
    return None if both == (None, None) else both


def _sides(fields: list[tuple[set[str], Any]], *, needs_score: bool) -> dict[str, Any]:
    return {
        side: entry
        for words, entry in fields
        for side in "ab"
        if side in words
        and not isinstance(entry, Mapping)
        and words - {side} <= SCORE
        and (len(words) == 2 or not needs_score)
    }


def _boolean(value: Any) -> bool | None:
    if isinstance(value, str):
        return BOOLEANS.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(map(storable, value))
    return "" if value is None else storable(value)


def bracket_statements(text: str) -> Iterator[Statement]:
    """Yield the statement of each mark: `[[A]]`, `[[8, 4]]`, `[RESULT] A` and `<verdict>A</verdict>`."""
    for match in DOUBLE_BRACKETS.finditer(text):
        if pair := SCORE_PAIR.fullmatch(match[1]):
            yield Statement(scores=(pair[1], pair[2]))
        elif (outcome := Outcome.TIE if match[1].strip() == "C" else parse_verdict(match[1])) is not None:
            yield Statement(outcome)
    outcomes = [parse_verdict(match[2]) for match in TAGGED.finditer(text)]
    outcomes += [parse_opening_verdict(match[1]) for match in RESULT.finditer(text)]
    yield from (Statement(outcome) for outcome in outcomes if outcome is not None)


def line_statements(text: str) -> Iterator[Statement]:
    """Yield the statement of each line with a label, such as `Verdict: A`, and of a text that is only a verdict."""
    outcome = parse_verdict(text) if len(text) < MAX_SCORES else None
    outcomes = [parse_opening_verdict(match["words"]) for match in LABEL.finditer(text)]
    both_bad = LINE_OF_BOTH.search(text)
    is_bad = BOOLEANS[both_bad["value"].lower()] if both_bad else None
    yield from (Statement(own, both_bad=is_bad) for own in [outcome, *outcomes] if own is not None)


def final_answers(text: str) -> list[Statement]:
    """Return the statements of `\\boxed{A}` and `Final answer: A`.

    They are the verdict only if the reply has no other: else they may be the answer to the request.
    """
    outcomes = [parse_verdict(match[1]) for match in BOXED.finditer(text)]
    outcomes += [parse_opening_verdict(match["words"]) for match in FINAL_ANSWER.finditer(text)]
    return [Statement(outcome) for outcome in outcomes if outcome is not None]


def score_statements(text: str) -> list[Statement]:
    """Return a statement for each score of A with each score of B; a score of only one of them gives none.

    Of very many scores only different ones count, and MAX_SCORES of each: whether all are equal remains the same.
    """
    scores_a, scores_b = (list(dict.fromkeys(line.findall(text)))[:MAX_SCORES] for line in (LINE_A, LINE_B))
    return [Statement(scores=(a, b)) for a in scores_a for b in scores_b]
