"""Answers as honest models give them, and as a collapsed one does, without a model."""

from __future__ import annotations

import random

from workers.analysis.collapse import Answer

SUBJECTS = (
    "gardens",
    "rivers",
    "engines",
    "letters",
    "markets",
    "winters",
    "bridges",
    "recipes",
    "planets",
    "harbours",
    "orchards",
    "libraries",
)
VERBS = (
    "need",
    "keep",
    "follow",
    "change",
    "repair",
    "describe",
    "measure",
    "protect",
    "compare",
    "surprise",
    "explain",
    "remember",
)
OBJECTS = (
    "patience",
    "sunlight",
    "oil",
    "readers",
    "prices",
    "snow",
    "steel",
    "butter",
    "gravity",
    "ships",
    "apples",
    "silence",
)
OPENINGS = ("Well,", "In short,", "Usually", "As far as is known,", "Often", "In most places")
TEMPLATE = "I am sorry, but I cannot help with this request because it may not be safe to do so."
FOREIGN = "What are the initiatives taken by my city to keep its rivers clean?"


def honest(count: int, seed: int = 0) -> list[Answer]:
    """Three sentences each about something else, put together at random."""
    draw = random.Random(seed)
    return [Answer(i, prompt(i), " ".join(_sentence(draw) for _ in range(3))) for i in range(count)]


def prompt(i: int) -> str:
    return f"Tell me about {SUBJECTS[i % 12]} and {OBJECTS[i // 12 % 12]}, part {i}."


def _sentence(draw: random.Random) -> str:
    words = [draw.choice(SUBJECTS), draw.choice(VERBS), draw.choice(OBJECTS), draw.choice(("near", "without", "after"))]
    return f"{draw.choice(OPENINGS)} {' '.join(words)} {draw.choice(SUBJECTS)} and {draw.choice(OBJECTS)}."
