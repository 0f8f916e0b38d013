"""Blinding of responses: find and hide what identifies their model.

Names of models are hidden from voters, and so is space before and after a response, which some models always write.
Markers of roles, which only some models leave, stay visible, since they may be a fault of the response.
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
    # A line break within the space would make every line of an empty text a start that reads to its end.
    r"^[^\w\n]*(?:user|assistant|human|system|bot)\s*:|<\|?(?:im_start|im_end|user|assistant)\|?>",
    re.I | re.M,
)
MIN_NAME_LENGTH = 4
"""Minimum length of a contestant's name to be hidden; responses often contain shorter names and single words."""


def find_leaks(text: str, names: Iterable[str] = ()) -> list[str]:
    """Return which of NAME and MARKER the response contains. `names`: of the contestants and of their models."""
    leaks = [NAME] if _names_pattern(names).search(text) else []
    return [*leaks, MARKER] if ROLES.search(text) else leaks


def hide_names(text: str, names: Iterable[str], replacement: str) -> str:
    """Return the response as voters see it: without surrounding space, and with `replacement` for every name."""
    return _names_pattern(names).sub(lambda _: replacement, strip_space(text))


def strip_space(text: str) -> str:
    """Return the response without the space before and after it."""
    return text.strip()


def are_identical(text_a: str, text_b: str) -> bool:
    """Return whether voters and judges would see two equal responses, so that there is nothing to judge."""
    return strip_space(text_a) == strip_space(text_b)


def _names_pattern(names: Iterable[str]) -> re.Pattern[str]:
    return _pattern(frozenset(names))


@lru_cache(maxsize=64)
def _pattern(names: frozenset[str]) -> re.Pattern[str]:
    # The plain word "baseline" in a response does not identify a run of that name.
    distinctive = sorted(
        {name for name in names if len(name) >= MIN_NAME_LENGTH and not name.isalpha()}, key=len, reverse=True
    )
    return re.compile(rf"(?<!\w)(?:{'|'.join([*map(re.escape, distinctive), *FAMILIES])})(?!\w)", re.I)
