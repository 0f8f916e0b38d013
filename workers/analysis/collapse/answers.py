"""Answers as they are compared: each distinct answer to a prompt, its words, its sentences."""

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
    """A model's response to a prompt. key: the caller's name for it. is_cut: it reached the length limit; None if that
    is not known."""

    key: int
    prompt: str
    text: str
    is_cut: bool | None = None
    sample: int = 0
    """0 is the greedy answer, or the first."""

    @cached_property
    def question(self) -> tuple[str, ...] | str:
        """The prompt's words: equal for prompts of the same words."""
        return words_of(self.prompt) or self.prompt

    @cached_property
    def is_empty(self) -> bool:
        """Return whether the text is only white space and special tokens."""
        return not SPECIAL_TOKEN.sub("", self.text).strip()

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The answer's words, case folded, without punctuation. A script without spaces has one word a clause."""
        return () if self.is_empty else words_of(self.text)

    @property
    def opening(self) -> tuple[str, ...] | None:
        """The answer's first words; None if the answer is hardly longer than they."""
        return self.words[:OPENING_WORDS] if len(self.words) > OPENING_WORDS else None

    @cached_property
    def sentences(self) -> dict[tuple[str, ...], str]:
        """The answer's distinct sentences: the words of each -> its first wording."""
        first_wordings: dict[tuple[str, ...], str] = {}
        for sentence in SENTENCE_END.split(self.text):
            words = words_of(sentence)
            if len(words) >= SENTENCE_WORDS:
                first_wordings.setdefault(words, sentence.strip())
        return first_wordings


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, case folded."""
    return tuple(WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def distinct_answers(answers: Iterable[Answer]) -> list[Answer]:
    """Return every answer, but equal answers of one sample number to prompts of the same words only once. The order
    depends on the content alone and not on the order of the prompts, so that any part of it is a fair sample of
    prompts."""
    first: dict[tuple[tuple[str, ...] | str, int, str], Answer] = {}
    for answer in answers:
        first.setdefault((answer.question, answer.sample, " ".join(answer.words) or answer.text.strip()), answer)
    return sorted(
        first.values(),
        key=lambda candidate: (
            crc32(candidate.prompt.encode("utf-8", "replace")),
            candidate.prompt,
            candidate.sample,
            candidate.text,
        ),
    )


def first_per_prompt(answers: Iterable[Answer]) -> list[Answer]:
    """Return the first answer to each distinct prompt, in the order given."""
    first: dict[tuple[str, ...] | str, Answer] = {}
    for answer in answers:
        first.setdefault(answer.question, answer)
    return list(first.values())
