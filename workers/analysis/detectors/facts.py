"""Count what the texts of an evaluation show: empty responses, special tokens, other scripts, right ones, and such."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from workers.analysis.collapse import ROLE_MARKER, SPECIAL_TOKEN, differs, language_of, words_of

CJK = re.compile("[\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uff00-\uffef]")
"""Characters of Chinese, Japanese and Korean, with their punctuation and full-width forms."""
INVENTED_TURN = re.compile(r"(?<=\n)[^\S\n]*(?:Q|Question|Prompt|System)\s*\d{0,3}\s*:", re.IGNORECASE)
"""A line after the first that begins as a further question or turn."""
DIGIT = re.compile(r"\d")
MAX_GUESS_WORDS = 4
MIN_PADDED_TOKENS = 16
CHARACTERS_PER_TOKEN = 0.25
"""Fewer characters per generated token mean that most tokens left no text: even rare characters take three tokens."""
PROMPT_CACHE_SIZE = 4096


@dataclass(frozen=True)
class EvaluatedResponse:
    """A response with its prompt. key: the caller's number for it. sample: 0 is the greedy one. tokens: those
    generated; 0 if unknown. parts: parts of the reward; a value that is not finite is a name such as "NaN". kl: nats
    summed over the tokens, None if not measured. is_right: the gold measure, None if the prompt has no right answer or
    it is not known."""

    key: int
    prompt: str
    text: str
    reward: float
    target: str = ""
    sample: int = 0
    tokens: int = 0
    parts: Mapping[str, float | str | None] = field(default_factory=dict)
    kl: float | None = None
    is_right: bool | None = None

    def part(self, name: str) -> float | None:
        """Return a part of the reward; None if it was not recorded, or is no finite number."""
        value = self.parts.get(name)
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None

    @property
    def is_greedy(self) -> bool:
        return self.sample == 0

    @property
    def is_unsafe(self) -> bool | None:
        """Return whether its cost is above 0; None if it has none."""
        cost = self.part("cost")
        return None if cost is None else cost > 0

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
    def words(self) -> tuple[str, ...]:
        """Return the words of the text, case folded."""
        return words_of(self.text)

    @cached_property
    def is_empty(self) -> bool:
        """Return whether it is only white space and punctuation, and not right."""
        return not self.words and not self.is_right

    @cached_property
    def is_special(self) -> bool:
        """Return whether a special token is written out in the text."""
        # Every mark has one of these characters; most texts have neither, and need no search.
        return ("<" in self.text or "[" in self.text) and SPECIAL_TOKEN.search(self.text) is not None

    @cached_property
    def has_cjk(self) -> bool:
        """Return whether the text has Chinese, Japanese or Korean characters."""
        return not self.text.isascii() and CJK.search(self.text) is not None

    @cached_property
    def plays_user(self) -> bool:
        """Return whether it invents a turn: it writes a role marker, or begins a line as a further question. Special
        tokens alone are no turn."""
        if self.is_special and not SPECIAL_TOKEN.sub("", self.text).strip():
            return False
        return ROLE_MARKER.search(self.text) is not None or INVENTED_TURN.search(self.bare) is not None

    @cached_property
    def is_guess(self) -> bool:
        """Return whether it is a bare answer of the expected form, and wrong: a few words, digits if digits are
        expected."""
        if self.is_right is not False or self.is_special or not 1 <= len(self.words) <= MAX_GUESS_WORDS:
            return False
        return bool(DIGIT.search(self.text)) == bool(DIGIT.search(self.target))

    @cached_property
    def is_in_another_language(self) -> bool:
        """Return whether it is in another language or script than its prompt, where both can be recognized."""
        if self.has_cjk and not CJK.search(self.prompt) and not CJK.search(self.target):
            return True
        language, prompt_language = language_of(self.bare, self.words), _prompt_language(self.prompt)
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

    empty: white space and punctuation. special_tokens: a special token written out. cjk: with Chinese, Japanese or
    Korean characters. other_language: in another language or script than the prompt. right, judged: right ones, of
    those of which that is known. at_limit: as many tokens as the limit. padded: most tokens left no text. plays_user:
    an invented turn. guesses: bare wrong answers. distinct: different texts.
    """

    n: int
    empty: int
    special_tokens: int
    cjk: int
    other_language: int
    right: int
    judged: int
    at_limit: int
    padded: int
    plays_user: int
    guesses: int
    distinct: int


def facts_of(responses: Sequence[EvaluatedResponse], token_limit: int | None = None) -> Facts:
    """Return the counts over these responses."""
    return Facts(
        n=len(responses),
        empty=sum(r.is_empty for r in responses),
        special_tokens=sum(r.is_special for r in responses),
        cjk=sum(r.has_cjk for r in responses),
        other_language=sum(r.is_in_another_language for r in responses),
        right=sum(r.is_right is True for r in responses),
        judged=sum(r.is_right is not None for r in responses),
        at_limit=sum(r.is_at_limit(token_limit) for r in responses),
        padded=sum(r.is_padded for r in responses),
        plays_user=sum(r.plays_user for r in responses),
        guesses=sum(r.is_guess for r in responses),
        distinct=len({r.text for r in responses}),
    )


def normalized(response: EvaluatedResponse) -> str:
    """Return the text as it is compared with others: its words, else its characters."""
    return " ".join(response.words) or response.bare


@lru_cache(maxsize=PROMPT_CACHE_SIZE)
def _prompt_language(text: str) -> str | None:
    return language_of(text, words_of(text))
