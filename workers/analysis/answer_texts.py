"""Numbers that the texts of one evaluation's answers give alone, without a model and without a tokenizer.

The common evaluator and imported evaluations both take them from here, so that a key means the same in all runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from workers.analysis.collapse import differs, language_of, words_of
from workers.analysis.right import RIGHT_PART

ACCURACIES = (RIGHT_PART, "contains", "exact")
"""The parts of a score, 0 or 1, that report whether an answer is right, holds the expected answer, or equals it."""
PROMPT_CACHE_SIZE = 1024


@dataclass
class TextCounts:
    """Counts over the answers that were added; their texts are not stored."""

    answers: int = 0
    empty: int = 0
    characters: int = 0
    compared: int = 0
    """Answers whose language, and whose prompt's language, can be recognized."""
    in_another_language: int = 0

    def add(self, text: str, prompt: str) -> None:
        """Count an answer to a prompt. Space around the text counts neither as text nor as characters."""
        bare = text.strip()
        self.answers += 1
        self.empty += not bare
        self.characters += len(bare)
        language, prompt_language = language_of(bare, words_of(bare)), _language_of_prompt(prompt)
        if language is not None and prompt_language is not None:
            self.compared += 1
            self.in_another_language += differs(language, prompt_language)

    def values(self) -> dict[str, float]:
        """Return the means by the names that all methods share; nothing without answers.

        response/empty_ratio and response/other_language_ratio are shares, the latter of the answers that could be
        compared; response/characters_mean is in characters.
        """
        if not self.answers:
            return {}
        means = {
            "response/empty_ratio": self.empty / self.answers,
            "response/characters_mean": self.characters / self.answers,
        }
        return means | (
            {"response/other_language_ratio": self.in_another_language / self.compared} if self.compared else {}
        )


def accuracies(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return accuracy/right, accuracy/contains and accuracy/exact, each if every answer has that part.

    A task without right answers has no accuracy.
    """
    present = [part for part in ACCURACIES if parts and all(part in answer_parts for answer_parts in parts)]
    return {f"accuracy/{part}": sum(answer_parts[part] for answer_parts in parts) / len(parts) for part in present}


@lru_cache(maxsize=PROMPT_CACHE_SIZE)
def _language_of_prompt(prompt: str) -> str | None:
    return language_of(prompt, words_of(prompt))
