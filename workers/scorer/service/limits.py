"""Limits of one request, and of all requests together, to a scorer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits beyond which a request is refused, with the limit in the message."""

    body_bytes: int = 16 * 1024 * 1024
    texts: int = 4096
    """Per request."""
    characters: int = 200_000
    """Per text."""
    waiting: int = 16384
    """Texts of all clients that have not been scored yet."""
    batch: int = 32
    """Texts in one pass through the models."""
