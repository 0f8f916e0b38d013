"""Kinds of the generated facts, as categories of questions.

They are here and not with the facts, because the files of the facts determine the embedded models: with every change
there each machine trains its models again.
"""

from __future__ import annotations

from workers.corpus import Fact

KINDS = {
    "What is the capital of": "capitals",
    "What is the opposite of": "opposites",
    "What is the Spanish word for": "Spanish",
    "What is the young of": "young animals",
    "What is the chemical symbol of": "chemical symbols",
    "What is the colour of": "colours",
    "How many": "counts",
}
"""The beginnings of generated questions, by kind; all others are sums."""
SUMS = "sums"


def kind_of(fact: Fact) -> str:
    """Return the kind of a fact: the one that its question begins with, or sums."""
    return next((kind for beginning, kind in KINDS.items() if fact.question.startswith(beginning)), SUMS)
