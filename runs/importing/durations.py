"""Parse durations as trainers write them."""

from __future__ import annotations

import re
from typing import Any

MAX_SECONDS = 3_000_000_000
"""Nearly a century. No training took longer."""
UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
DURATION = re.compile(r"(?:\d{1,9}[dhms] ?){1,4}")
PART = re.compile(r"(\d{1,9})([dhms])")
CLOCK = re.compile(r"(?:(\d{1,6}) days?, )?(\d{1,6}):(\d\d):(\d\d)")


def parse_duration(text: Any) -> float | None:
    """Parse `1d 2h 3m 4s`, `0:02:51` or `1 day, 2:03:04` to seconds; None if the text is no duration."""
    text = str(text).strip()
    if match := CLOCK.fullmatch(text):
        parts = list(zip(match.groups(default="0"), "dhms", strict=True))
    else:
        parts = PART.findall(text) if DURATION.fullmatch(text) else []
    seconds = sum(int(count) * UNITS[unit] for count, unit in parts)
    return float(seconds) if parts and seconds < MAX_SECONDS else None
