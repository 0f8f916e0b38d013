"""What in an answer tells whose it is: names of models, and markers of roles that only some models leave behind.

Names are hidden from voters, and so is space before and after an answer, which some models always write. Markers are
left where they are, since they may be what is bad about an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

NAME, MARKER = "name", "marker"
VERSION = r"(?:-?\d[\w.-]*)?"
FAMILIES = (
    "alpaca", "beaver", "chatglm", "chatgpt", "claude", "deepseek", "falcon", "gemini", "gemma", r"gpt-?[2-5][\w.-]*",
    f"llama{VERSION}", "mistral", "mixtral", "openai", "anthropic", r"phi-[1-4][\w.-]*", f"qwen{VERSION}", "tulu",
    "vicuna",
)  # fmt: skip
ROLES = re.compile(
    r"^\W*(?:user|assistant|human|system|bot)\s*:|<\|?(?:im_start|im_end|user|assistant)\|?>", re.I | re.M
)
SHORTEST = 4
"""Of a contestant's own name: shorter ones, and single words, are what answers are full of."""


def leaks(text: str, names: Iterable[str] = ()) -> list[str]:
    """What the answer tells, of NAME and MARKER. `names` are those of the contestants and of their models."""
    found = [NAME] if _names(names).search(text) else []
    return [*found, MARKER] if ROLES.search(text) else found


def hidden(text: str, names: Iterable[str], instead: str) -> str:
    """The answer as voters see it: without space around it, and with `instead` in place of every name."""
    return _names(names).sub(lambda _: instead, bare(text))


def bare(text: str) -> str:
    """Return the answer without the space before and after it."""
    return text.strip()


def are_identical(text_a: str, text_b: str) -> bool:
    """Return whether voters and judges would see twice the same, so that there is nothing to judge."""
    return bare(text_a) == bare(text_b)


def _names(names: Iterable[str]) -> re.Pattern[str]:
    return _pattern(frozenset(names))


@lru_cache(maxsize=64)
def _pattern(names: frozenset[str]) -> re.Pattern[str]:
    # A run called "baseline" is told by nobody who uses the word.
    own = sorted({name for name in names if len(name) >= SHORTEST and not name.isalpha()}, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join([*map(re.escape, own), *FAMILIES])})(?!\w)", re.I)
