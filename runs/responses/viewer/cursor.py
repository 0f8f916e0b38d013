"""Cursor at the end of a page of rows: the sort value, and the fields that distinguish rows of equal value."""

from __future__ import annotations

import binascii
import json
import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

from workers.config.shallow_json import loads

MAX_LENGTH = 2000


class InvalidCursor(ValueError):
    """An invalid cursor, which no page has given out."""


@dataclass(frozen=True)
class ResponseCursor:
    """A row: its sort value, infinite if it has none; its prompt's row in the data set, name and key; its sample."""

    value: float
    row: int
    name: str
    prompt: int
    sample: int

    def __str__(self) -> str:
        encoded = json.dumps([self.value, self.row, self.name, self.prompt, self.sample], ensure_ascii=False)
        return urlsafe_b64encode(encoded.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, text: str) -> ResponseCursor:
        """Return the cursor that a text encodes. Raise InvalidCursor."""
        try:
            parts = loads(urlsafe_b64decode(text[:MAX_LENGTH] + "=" * (-len(text) % 4)))
            value, row, name, prompt, sample = parts
            name.encode()
        except (ValueError, TypeError, AttributeError, binascii.Error):
            raise InvalidCursor(text) from None
        are_indices = all(type(number) is int and 0 <= number < 2**63 for number in (row, prompt, sample))
        if not are_indices or type(value) not in (int, float) or math.isnan(value) or "\x00" in name:
            raise InvalidCursor(text)
        return cls(_float(value, text), row, name, prompt, sample)


def _float(value: float, text: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise InvalidCursor(text) from None
