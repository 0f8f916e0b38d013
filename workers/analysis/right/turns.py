"""Turns that a response invents: it goes on as the user or the system, or puts further questions of its own."""

from __future__ import annotations

import re

from workers.analysis.right.restated import share_restated

LABEL = re.compile(
    r"(?:^|\n)[ \t]{0,20}(?:user|human|assistant|system|student|question|instruction|q)[ \t]?\d{0,3}[ \t]?:"
    r"|(?:^|\n)#{1,6}[ \t]{0,5}(?:user|human|assistant|system|question|instruction)\b"
    r"|<\|?(?:im_start|im_end|user|assistant|system|endoftext|eot_id|start_header_id|end)\|>"
    r"|\[/?INST\]|</s>",
    re.I,
)
"""A mark that begins a turn."""
CAPITAL_LABEL = re.compile(r"(?<![A-Za-z])(?:USER|ASSISTANT|HUMAN|SYSTEM) ?:")
OWN_LABEL = re.compile(r"\s{0,20}(?:assistant|answer|response|a)[ \t]?:", re.I)
"""The label of the response's own turn, where it begins with one."""
QUESTION = re.compile(
    r"(?:what|which|who|whose|whom|how|when|where|why|is|are|was|were|do|does|did|can|could|will|would|should|has|have"
    r"|name|calculate|translate|tell|so what|and what)\b",
    re.I,
)
RHETORICAL = re.compile(
    r"(?:did|do|can) (?:you|we)\b|(?:is|are|was|were|does|do)(?:n't| it| that| there| this)\b|why\b"
    r"|how (?:so|come)\b|so what\b",
    re.I,
)
"""Questions that a response may put to its reader within its answer."""
SENTENCE_END = re.compile(r"[.!?\n](?=\s|$)")
MIN_QUESTION_WORDS = 4
MOSTLY = 0.6
"""Share of a question's words in the prompt from which on it restates the prompt."""


def own_turn(text: str, question: str = "") -> str:
    """Return the text before the first turn that it invents, without the label of its own turn."""
    own = OWN_LABEL.match(text)
    start = own.end() if own else 0
    marks = [match.start() for pattern in (LABEL, CAPITAL_LABEL) if (match := pattern.search(text, start))]
    text = text[start : min(marks, default=len(text))]
    return text[: _first_new_question(text, question)]


def _first_new_question(text: str, question: str) -> int:
    """Return the position of the first further question after some text that is none; the text's length without."""
    start, has_statement = 0, False
    for end in SENTENCE_END.finditer(text):
        sentence = text[start : end.end()].strip()
        is_new = end[0] == "?" and _is_new_question(sentence, question)
        if is_new and has_statement:
            return start
        has_statement = has_statement or bool(sentence and end[0] != "?")
        start = end.end()
    return len(text)


def _is_new_question(sentence: str, question: str) -> bool:
    return (
        len(sentence.split(maxsplit=MIN_QUESTION_WORDS)) >= MIN_QUESTION_WORDS
        and QUESTION.match(sentence) is not None
        and RHETORICAL.match(sentence) is None
        and share_restated(sentence, question) < MOSTLY
    )
