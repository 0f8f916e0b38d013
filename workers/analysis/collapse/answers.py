"""Answers as they are compared: each different one to a prompt, its words, its sentences."""

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
SPECIAL_TOKEN = re.compile(
    r"<[|｜][^<>\s]{1,60}[|｜]>"
    r"|</?(?:s|pad|eos|bos|unk|mask|start_of_turn|end_of_turn)>"
    r"|\[(?:PAD|EOS|BOS|UNK|CLS|SEP|MASK|/?INST)\]|<</?SYS>>",
    re.IGNORECASE,
)
"""Tokens that end, pad or part texts, as the tokenizers of Qwen, Llama, Mistral, Gemma, DeepSeek, T5 and BERT write
them, and the marks of their chat templates."""


@dataclass(frozen=True)
class Answer:
    """What a model said to a prompt. key: what the caller knows it by. is_cut: it met the limit of its length; None
    where that is not known."""

    key: int
    prompt: str
    text: str
    is_cut: bool | None = None
    sample: int = 0
    """0 is the greedy answer, or the first."""

    @cached_property
    def question(self) -> tuple[str, ...] | str:
        """The same for prompts of the same words."""
        return words_of(self.prompt) or self.prompt

    @cached_property
    def is_empty(self) -> bool:
        """Nothing is said: it is white space and special tokens alone."""
        return not SPECIAL_TOKEN.sub("", self.text).strip()

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its words, case folded, without punctuation. A script that writes no spaces has one word a clause."""
        return () if self.is_empty else words_of(self.text)

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


def different(answers: Iterable[Answer]) -> list[Answer]:
    """Every answer; of those to prompts of the same words the equal ones of one sample number once. The order is the
    same for whoever was asked the same, and has nothing to do with that of the prompts: any part of it is a fair
    sample of prompts."""
    first: dict[tuple[tuple[str, ...] | str, int, str], Answer] = {}
    for answer in answers:
        first.setdefault((answer.question, answer.sample, " ".join(answer.words) or answer.text.strip()), answer)
    return sorted(
        first.values(),
        key=lambda one: (crc32(one.prompt.encode("utf-8", "replace")), one.prompt, one.sample, one.text),
    )


def one_a_prompt(answers: Iterable[Answer]) -> list[Answer]:
    """The first answer to each different prompt, in the order given."""
    first: dict[tuple[str, ...] | str, Answer] = {}
    for answer in answers:
        first.setdefault(answer.question, answer)
    return list(first.values())
