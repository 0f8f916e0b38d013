"""A prompt and one answer to it, as training data of a model."""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    """A user's prompt, and the answer to learn."""

    prompt: str
    answer: str
