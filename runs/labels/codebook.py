"""The codebook that readers label by: `docs/studies/labels/codebook.md`, the one copy, which the page shows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from django.conf import settings

PATH = "docs/studies/labels/codebook.md"
VERSION = re.compile(r"^Version (\d+)\.", re.MULTILINE)


@dataclass(frozen=True)
class Codebook:
    """The text, as Markdown without its title, and its version."""

    version: int
    text: str


@cache
def read_codebook() -> Codebook:
    """Return the codebook. Raise ValueError if its text states no version."""
    text = (settings.BASE_DIR / PATH).read_text(encoding="utf-8")
    version = VERSION.search(text)
    if version is None:
        raise ValueError(f"{PATH} must have a line that begins with: Version 1.")
    _title, _, body = text.partition("\n")
    return Codebook(int(version[1]), body.strip())
