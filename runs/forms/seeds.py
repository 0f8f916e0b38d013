"""Seeds as people type them."""

from __future__ import annotations

import re

from django.utils.translation import gettext

SEEDS_AT_MOST = 20


def seeds(text: str) -> list[int]:
    """`0, 1, 4-6` -> [0, 1, 4, 5, 6], each once. Raises ValueError saying what is wrong."""
    found: dict[int, None] = {}
    for part in (p for p in re.split(r"[,\s]+", text.strip()) if p):
        match = re.fullmatch(r"(\d{1,10})(?:[-–](\d{1,10}))?", part)
        if match is None:
            raise ValueError(gettext("must be whole numbers such as 0, 1, 2 or 0-4, not %(part)r") % {"part": part})
        first, last = int(match[1]), int(match[2] or match[1])
        if not 0 <= last - first < SEEDS_AT_MOST:
            said = gettext("a range goes up and has at most %(most)s seeds, not %(part)r")
            raise ValueError(said % {"most": SEEDS_AT_MOST, "part": part})
        found |= dict.fromkeys(range(first, last + 1))
    if len(found) > SEEDS_AT_MOST:
        raise ValueError(gettext("at most %(most)s at once, not %(n)s") % {"most": SEEDS_AT_MOST, "n": len(found)})
    return list(found)
