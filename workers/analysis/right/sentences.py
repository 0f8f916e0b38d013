"""The text of a response that can hold its answer, in normal form, and its sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workers.analysis.right.math_form import last_box, text_form
from workers.analysis.right.normal_form import MAX_CHARACTERS, normal_form
from workers.analysis.right.restated import normal_times, without_restated
from workers.analysis.right.turns import own_turn

MAX_RESPONSE = 100_000
"""Characters of a response in which invented turns and thoughts are looked for."""
THOUGHT, END_OF_THOUGHT = "<think>", "</think>"
ANSWER = re.compile(r"<answer>([^<]*)</answer>")
HASHES = re.compile(r"####[ \t]*(\S[^\n]*)")
ITEM_MARK = re.compile(r"^[ \t]*(?:[*•+-]|\(?(\d{1,2})[.)])[ \t]+", re.M)
SENTENCE_END = re.compile(
    r"(?<![.!?;])[.!?;]{1,40}[\"')\]]{0,3}(?=\s|$)|\n+|[,;](?=\s(?:no|wait|sorry|i mean|or rather)\b)"
)


@dataclass(frozen=True)
class Sentence:
    """A sentence in normal form, without restated text and without its end mark."""

    text: str
    is_question: bool = False


def answer_text(response: str, question: str) -> str:
    """Return the text in which a response gives its answer, in normal form.

    Invented turns and thoughts do not count. A marked answer, in a box, <answer> or after ####, stands for all of it.
    """
    text = own_text(response, question)
    answers, hashes = ANSWER.findall(text), HASHES.findall(text)
    for marked in (answers[-1] if answers else "", text_form(last_box(text)), hashes[-1] if hashes else ""):
        if marked.strip():
            return normal_form(marked[:MAX_CHARACTERS])
    return normal_form(text[-MAX_CHARACTERS:])


def own_text(response: str, question: str) -> str:
    """Return the response's own turn, without its thoughts."""
    text = own_turn(response[:MAX_RESPONSE], question)
    if END_OF_THOUGHT in text:
        return text.rpartition(END_OF_THOUGHT)[2]
    return text.partition(THOUGHT)[0]


def sentences_of(text: str, question: str) -> list[Sentence]:
    """Return the sentences of a text in normal form that hold anything."""
    text = without_restated(normal_times(_without_item_marks(text)), question)
    sentences, start = [], 0
    for end in SENTENCE_END.finditer(text):
        sentences.append(Sentence(text[start : end.start()].strip(), "?" in end[0]))
        start = end.end()
    sentences.append(Sentence(text[start:].strip()))
    return [sentence for sentence in sentences if sentence.text]


def _without_item_marks(text: str) -> str:
    """Drop bullets, and the numbers of a list that counts from 1."""
    numbers = [int(match[1]) for match in ITEM_MARK.finditer(text) if match[1]]
    counts = len(numbers) > 1 and numbers[:2] == [1, 2]
    return ITEM_MARK.sub(lambda mark: mark[0] if mark[1] and not counts else "", text)
