"""A prompt and one answer to it: what a model is pre-trained on."""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    """What a person asks, and what the model is to have said."""

    prompt: str
    answer: str
