"""Encode the end of a page of rows: the value that sorts them, and what distinguishes rows of equal value."""

from __future__ import annotations

import binascii
import json
import math
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

from workers.config.shallow_json import loads

LONGEST = 2000


class NotAPlace(ValueError):
    """A place that no page has given out."""


@dataclass(frozen=True)
class ResponseCursor:
    """A row: its sort value, infinite where it has none; its prompt's row in the data set, name and key; its sample."""

    value: float
    row: int
    name: str
    prompt: int
    sample: int

    def __str__(self) -> str:
        said = json.dumps([self.value, self.row, self.name, self.prompt, self.sample], ensure_ascii=False)
        return urlsafe_b64encode(said.encode()).decode().rstrip("=")

    @classmethod
    def read(cls, text: str) -> ResponseCursor:
        """Raises NotAPlace."""
        try:
            found = loads(urlsafe_b64decode(text[:LONGEST] + "=" * (-len(text) % 4)))
            value, row, name, prompt, sample = found
            name.encode()
        except (ValueError, TypeError, AttributeError, binascii.Error):
            raise NotAPlace(text) from None
        whole = all(type(one) is int and 0 <= one < 2**63 for one in (row, prompt, sample))
        if not whole or type(value) not in (int, float) or math.isnan(value) or "\x00" in name:
            raise NotAPlace(text)
        return cls(_float(value, text), row, name, prompt, sample)


def _float(value: float, text: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise NotAPlace(text) from None
