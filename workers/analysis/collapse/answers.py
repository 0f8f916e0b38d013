"""Answers as they are compared: one a prompt, their words, their sentences."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+|\n+")
WORD = re.compile(r"\w+(?:['’]\w+)*")
SENTENCE_WORDS = 5
"""Shorter sentences are shared by honest answers too."""
OPENING_WORDS = 8


@dataclass(frozen=True)
class Answer:
    """What a model said to a prompt. key: what the caller knows it by. is_cut: it met the limit of its length; None
    where that is not known."""

    key: int
    prompt: str
    text: str
    is_cut: bool | None = None

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its words, case folded, without punctuation. A script that writes no spaces has one word a clause."""
        return words_of(self.text)

    @property
    def opening(self) -> tuple[str, ...] | None:
        """Its first words; None of an answer that is hardly longer than they."""
        return self.words[:OPENING_WORDS] if len(self.words) > OPENING_WORDS else None

    @cached_property
    def sentences(self) -> dict[tuple[str, ...], str]:
        """Its different sentences: the words of each -> the first that has them, as it was written."""
        found: dict[tuple[str, ...], str] = {}
        for said in SENTENCE_END.split(self.text):
            words = words_of(said)
            if len(words) >= SENTENCE_WORDS:
                found.setdefault(words, said.strip())
        return found


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, case folded."""
    return tuple(WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def one_a_prompt(answers: Iterable[Answer]) -> list[Answer]:
    """The first answer to each different prompt, in an order that is the same for whoever was asked the same, and has
    nothing to do with that of the prompts: any part of it is a fair sample."""
    first: dict[tuple[str, ...] | str, Answer] = {}
    for answer in answers:
        first.setdefault(words_of(answer.prompt) or answer.prompt, answer)
    return sorted(first.values(), key=lambda answer: (crc32(answer.prompt.encode("utf-8", "replace")), answer.prompt))
