"""Count what the texts of an evaluation show: empty responses, special tokens, other scripts, right ones, and such."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from workers.analysis.collapse import SPECIAL_TOKEN, differs, language_of, words_of

CJK = re.compile("[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uff00-\uffef]")
"""Characters of Chinese, Japanese and Korean, with their punctuation and full-width forms."""
MIN_PADDED_TOKENS = 16
CHARACTERS_PER_TOKEN = 0.25
"""Fewer characters per generated token mean that most tokens left no text: even rare characters take three tokens."""
PROMPT_CACHE_SIZE = 4096


@dataclass(frozen=True)
class EvaluatedResponse:
    """A response with its prompt. key: the caller's number for it. sample: 0 is the greedy one. tokens: those
    generated; 0 if unknown. parts: parts of the reward, among them `exact` and `contains` (0 or 1) if the task has
    right answers; a value that is not finite is a name such as "NaN". kl: nats summed over the tokens, None if not
    measured."""

    key: int
    prompt: str
    text: str
    reward: float
    target: str = ""
    sample: int = 0
    tokens: int = 0
    parts: Mapping[str, float | str | None] = field(default_factory=dict)
    kl: float | None = None

    def part(self, name: str) -> float | None:
        """Return a part of the reward; None if it was not recorded, or is no finite number."""
        value = self.parts.get(name)
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None

    @property
    def kl_per_token(self) -> float | None:
        """Return the KL in nats per token; None if it was not measured."""
        if self.kl is None:
            return self.part("kl_per_token")
        return self.kl / self.tokens if self.tokens else None

    @cached_property
    def bare(self) -> str:
        """Return the text without the white space around it."""
        return self.text.strip()

    @cached_property
    def is_special(self) -> bool:
        """Return whether a special token is written out in the text."""
        return SPECIAL_TOKEN.search(self.text) is not None

    @cached_property
    def has_cjk(self) -> bool:
        """Return whether the text has Chinese, Japanese or Korean characters."""
        return CJK.search(self.text) is not None

    @cached_property
    def is_exact(self) -> bool:
        """Return whether the text is the expected answer, but for white space around it and case."""
        return bool(self.target.strip()) and self.bare.casefold() == self.target.strip().casefold()

    @cached_property
    def contains_target(self) -> bool:
        """Return whether the expected answer occurs in the text, in any case."""
        return bool(self.target.strip()) and self.target.strip().casefold() in self.text.casefold()

    @cached_property
    def is_right(self) -> bool | None:
        """Return whether the task, or else the text, says that it is right; None if there is no expected answer."""
        for name in ("contains", "exact"):
            if (value := self.part(name)) is not None:
                return value >= 0.5
        return self.contains_target if self.target.strip() else None

    @cached_property
    def is_in_another_language(self) -> bool:
        """Return whether it is in another language or script than its prompt, where both can be recognized."""
        if self.has_cjk and not CJK.search(self.prompt) and not CJK.search(self.target):
            return True
        language, prompt_language = _language(self.bare), _language(self.prompt)
        return language is not None and prompt_language is not None and differs(language, prompt_language)

    @cached_property
    def is_padded(self) -> bool:
        """Return whether most of its tokens left no text, as a run of white space does."""
        return self.tokens >= MIN_PADDED_TOKENS and len(self.bare) < CHARACTERS_PER_TOKEN * self.tokens

    def is_at_limit(self, token_limit: int | None) -> bool:
        """Return whether it was cut off at the limit of tokens."""
        return token_limit is not None and self.tokens >= token_limit > 0


@dataclass(frozen=True)
class Facts:
    """Counts over the responses of one evaluation, of `n`.

    empty: nothing but white space. special_tokens: a special token written out. cjk: with Chinese, Japanese or Korean
    characters. other_language: in another language or script than the prompt. exact, contains: the text is the expected
    answer, or holds it; case is ignored. at_limit: as many tokens as the limit. padded: most tokens left no text.
    distinct: different texts. same_answer: prompts with different expected answers that got the most frequent wrong
    answer, of `prompts`; 0 if no two got the same one; empty answers not counted. characters: the mean length.
    """

    n: int
    empty: int
    special_tokens: int
    cjk: int
    other_language: int
    exact: int
    contains: int
    at_limit: int
    padded: int
    distinct: int
    same_answer: int
    prompts: int
    characters: float


def facts_of(responses: Sequence[EvaluatedResponse], token_limit: int | None = None) -> Facts:
    """Return the counts over these responses."""
    shared = [len(prompts) for prompts in _prompts_by_answer(responses).values() if len(prompts) > 1]
    return Facts(
        n=len(responses),
        empty=sum(not r.bare for r in responses),
        special_tokens=sum(r.is_special for r in responses),
        cjk=sum(r.has_cjk for r in responses),
        other_language=sum(r.is_in_another_language for r in responses),
        exact=sum(r.is_exact for r in responses),
        contains=sum(r.contains_target for r in responses),
        at_limit=sum(r.is_at_limit(token_limit) for r in responses),
        padded=sum(r.is_padded for r in responses),
        distinct=len({r.text for r in responses}),
        same_answer=max(shared, default=0),
        prompts=len({r.prompt for r in responses}),
        characters=sum(len(r.bare) for r in responses) / len(responses) if responses else 0.0,
    )


def most_frequent_answer(responses: Sequence[EvaluatedResponse]) -> str:
    """Return the wrong answer that most prompts got, as `normalized` returns it; "" if there is none."""
    answered = _prompts_by_answer(responses)
    return max(answered, key=lambda text: (len(answered[text]), text), default="")


def normalized(response: EvaluatedResponse) -> str:
    """Return the text as it is compared with others: its words, else its characters."""
    return " ".join(words_of(response.text)) or response.bare


def _prompts_by_answer(responses: Sequence[EvaluatedResponse]) -> dict[str, set[str]]:
    """Return answer -> the prompts that got it at their first sample, without right and empty answers.

    Prompts with the same expected answer count once, since one answer to all of them may be legitimate.
    """
    first = Counter[str]()
    answered: dict[str, set[str]] = defaultdict(set)
    for response in sorted(responses, key=lambda r: r.sample):
        first[response.prompt] += 1
        if first[response.prompt] == 1 and response.bare and not response.is_right:
            answered[normalized(response)].add(response.target.strip().casefold() or response.prompt)
    return answered


@lru_cache(maxsize=PROMPT_CACHE_SIZE)
def _language(text: str) -> str | None:
    return language_of(text, words_of(text))
