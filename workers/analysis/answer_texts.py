"""Numbers that the texts of one evaluation's answers give by themselves, without a model and without a tokenizer.

The common evaluator and imported evaluations both take them from here, so that a key means the same in all runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from workers.analysis.collapse import differs, language_of, words_of

ACCURACIES = ("exact", "contains")
"""Parts of a score that say whether an answer is right, 0 or 1."""
PROMPTS_AT_ONCE = 1024


@dataclass
class TextCounts:
    """Counts over the answers that were added; their texts are not kept."""

    answers: int = 0
    empty: int = 0
    characters: int = 0
    compared: int = 0
    """Answers whose language can be told, and their prompt's."""
    in_another_language: int = 0

    def add(self, text: str, prompt: str) -> None:
        """Count an answer to a prompt. Space around the text counts neither as text nor as characters."""
        bare = text.strip()
        self.answers += 1
        self.empty += not bare
        self.characters += len(bare)
        said, asked = language_of(bare, words_of(bare)), _language_of_prompt(prompt)
        if said is not None and asked is not None:
            self.compared += 1
            self.in_another_language += differs(said, asked)

    def values(self) -> dict[str, float]:
        """Return the means by the names that all methods share; nothing without answers.

        response/empty_ratio and response/other_language_ratio are shares, the latter of the answers that could be
        compared; response/characters_mean is in characters.
        """
        if not self.answers:
            return {}
        found = {
            "response/empty_ratio": self.empty / self.answers,
            "response/characters_mean": self.characters / self.answers,
        }
        return found | (
            {"response/other_language_ratio": self.in_another_language / self.compared} if self.compared else {}
        )


def accuracies(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return accuracy/exact and accuracy/contains, each if every answer has that part: a task without right answers
    has no accuracy."""
    present = [part for part in ACCURACIES if parts and all(part in one for one in parts)]
    return {f"accuracy/{part}": sum(one[part] for one in parts) / len(parts) for part in present}


@lru_cache(maxsize=PROMPTS_AT_ONCE)
def _language_of_prompt(prompt: str) -> str | None:
    return language_of(prompt, words_of(prompt))
