"""A judge that is no model: it looks at the form of an answer alone, and knows nothing of truth or harm.

It needs no server and always says the same, so that a board can be seen before a model judges. From the best score an
answer loses, on a scale from 0 to 10:

    10   it says nothing
     3   it goes on as somebody else, as in "USER: …"
     3   it says little but the words of the request
     2   most of its words are repeats
     1   it stops in the middle of a sentence
     1   for every 20 words, 4 at most
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from judging.model_judge.outcomes import CallResult, State
from judging.model_judge.parser import Reading
from judging.model_judge.prompt import Pair
from judging.model_judge.rubric import Rubric
from judging.stats.votes import TIE_THRESHOLD, Outcome, outcome_of_scores

NAME = "Rules (form alone)"
WORD = re.compile(r"\w+")
SPEAKER = re.compile(r"\b(?:USER|ASSISTANT|HUMAN)\s*:", re.IGNORECASE)
ENDS = (".", "!", "?", "…", ":", ")", '"', "”", "'", "`")
MANY_WORDS = 8
WORDS_A_POINT = 20
MAX_LENGTH_PENALTY = 4.0


def judge(rubric: Rubric, pair: Pair) -> CallResult:
    """Return which response of a pair has the better form. Both are bad if neither says anything."""
    penalties = [dict(_penalties(pair.prompt, text)) for text in (pair.first, pair.second)]
    first, second = (_score(sum(points.values()), rubric) for points in penalties)
    outcome = outcome_of_scores(first, second, TIE_THRESHOLD)
    if first == second == rubric.lowest:
        outcome = Outcome.BOTH_BAD
    reasoning = "; ".join(f"{name} {_words(points)}" for name, points in zip("AB", penalties, strict=True))
    return CallResult(State.DONE, outcome, reading=Reading("rules", outcome, (first, second), reasoning))


def _penalties(prompt: str, text: str) -> Iterator[tuple[str, float]]:
    words = [word.casefold() for word in WORD.findall(text)]
    if not words:
        yield "says nothing", 10.0
        return
    prompt_words = {word.casefold() for word in WORD.findall(prompt)}
    if SPEAKER.search(text):
        yield "goes on as somebody else", 3.0
    if sum(word in prompt_words for word in words) > 0.8 * len(words):
        yield "repeats the request", 3.0
    if len(words) > MANY_WORDS and len(set(words)) < 0.5 * len(words):
        yield "repeats itself", 2.0
    if len(words) > MANY_WORDS and not text.rstrip().endswith(ENDS):
        yield "stops in the middle", 1.0
    yield f"has {len(words)} words", min(len(words) / WORDS_A_POINT, MAX_LENGTH_PENALTY)


def _score(penalty: float, rubric: Rubric) -> float:
    return rubric.lowest + (rubric.highest - rubric.lowest) * max(0.0, 1 - penalty / 10)


def _words(points: dict[str, float]) -> str:
    return ", ".join(f"{reason} (-{value:.2g})" for reason, value in points.items())
