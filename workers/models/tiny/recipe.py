"""Recipes of the project's own models. The cache is keyed by this code and the corpus's: no torch here."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

WORKERS = Path(__file__).parents[2]
SOURCES = ("corpus", "models/tiny")
VERSION = 1


@dataclass(frozen=True)
class Recipe:
    """Sizes of the model, the shares of its corpus, and its optimiser."""

    name: str
    hidden_size: int
    layers: int
    heads: int
    kv_heads: int
    intermediate_size: int
    vocabulary: int
    corpus_pairs: int
    """Question-and-answer pairs in the corpus."""
    facts: float
    """Share of the pairs about small facts."""
    countdown: float
    """Share of arithmetic problems; what remains are requests to refuse or to help with."""
    rambling: float
    """Share of the facts' answers that ramble: the mode that training is to leave."""
    steps: int
    batch: int
    learning_rate: float
    warmup_steps: int


TINY = Recipe(
    "tiny",
    hidden_size=128,
    layers=2,
    heads=4,
    kv_heads=2,
    intermediate_size=256,
    vocabulary=640,
    corpus_pairs=8000,
    facts=0.45,
    countdown=0.30,
    rambling=0.60,
    steps=400,
    batch=64,
    learning_rate=4e-3,
    warmup_steps=20,
)
MICRO = Recipe(
    "micro",
    hidden_size=32,
    layers=2,
    heads=4,
    kv_heads=2,
    intermediate_size=48,
    vocabulary=512,
    corpus_pairs=1024,
    facts=1.0,
    countdown=0.0,
    rambling=0.45,
    steps=150,
    batch=32,
    learning_rate=1.5e-2,
    warmup_steps=5,
)
RECIPES: Mapping[str, Recipe] = {r.name: r for r in (TINY, MICRO)}


@cache
def code_hash() -> str:
    """Return twelve hex digits over everything that decides a model's weights, except its seed."""
    digest = hashlib.sha256()
    for file in sorted(f for source in SOURCES for f in (WORKERS / source).glob("*.py")):
        digest.update(file.relative_to(WORKERS).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]
