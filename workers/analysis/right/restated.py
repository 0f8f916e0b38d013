"""Parts of a response that only restate its prompt: they hold no answer."""

from __future__ import annotations

import re
from functools import lru_cache

from workers.analysis.right.normal_form import MAX_CHARACTERS, normal_form

RESTATED = "□"
"""The sign in place of restated text."""
RUN = 3
"""Words and signs of the prompt in a row that count as restated; fewer may be an answer in the prompt's words."""
TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’-][^\W\d_]+)*|[+*/×÷=%^<>-]")
TIMES = re.compile(r"(?<=\d)(\s?)[x*](\s?)(?=\d)")
OPERATORS = frozenset("+×÷%^-")
PERCENT = {"percent": "%", "per-cent": "%", "*": "×", "/": "÷"}


def without_restated(text: str, question: str) -> str:
    """Return a text in normal form with RESTATED in place of each run of at least RUN tokens of the question."""
    runs = _runs(question)
    if not runs:
        return text
    matches = list(TOKEN.finditer(text))
    tokens = [PERCENT.get(match[0], match[0]) for match in matches]
    restated = [False] * len(tokens)
    for start in range(len(tokens) - RUN + 1):
        if tuple(tokens[start : start + RUN]) in runs:
            restated[start : start + RUN] = [True] * RUN
    _keep_results(tokens, restated)
    pieces, at = [], 0
    for index, match in enumerate(matches):
        if restated[index]:
            if not (index and restated[index - 1]):
                pieces += [text[at : match.start()], RESTATED]
            at = match.end()
    return "".join([*pieces, text[at:]])


def _keep_results(tokens: list[str], restated: list[bool]) -> None:
    """Unmark runs that open with an operator: "× 7 =" of "10 × 7 =" belongs to another calculation."""
    for start, token in enumerate(tokens):
        if restated[start] and not (start and restated[start - 1]) and token in OPERATORS:
            end = next((i for i in range(start, len(tokens)) if not restated[i]), len(tokens))
            restated[start:end] = [False] * (end - start)


def share_restated(sentence: str, question: str) -> float:
    """Return the share of a sentence's words that the question has."""
    words = TOKEN.findall(normal_form(sentence))
    asked = _words(question)
    return sum(word in asked for word in words) / len(words) if words else 0.0


def words_of_question(question: str) -> frozenset[str]:
    """Return the words of a question in normal form."""
    return _words(question)


@lru_cache(maxsize=4096)
def _words(question: str) -> frozenset[str]:
    return frozenset(TOKEN.findall(normal_form(question[:MAX_CHARACTERS])))


@lru_cache(maxsize=4096)
def _runs(question: str) -> frozenset[tuple[str, ...]]:
    tokens = [PERCENT.get(t, t) for t in TOKEN.findall(normal_times(normal_form(question[:MAX_CHARACTERS])))]
    return frozenset(tuple(tokens[i : i + RUN]) for i in range(len(tokens) - RUN + 1))


def normal_times(text: str) -> str:
    """Return a text in normal form with × in place of x and * between numbers."""
    return TIMES.sub(r"\1×\2", text)
