"""What one request and all of them together may ask of a scorer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Beyond these a request is refused, with the limit in words."""

    body_bytes: int = 16 * 1024 * 1024
    texts: int = 4096
    """Of one request."""
    characters: int = 200_000
    """Of one text."""
    waiting: int = 16384
    """Texts of all clients that have not been scored yet."""
    batch: int = 32
    """Texts in one pass through the models."""
