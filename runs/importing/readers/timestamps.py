"""Parse times in any form of ISO 8601; a time without a zone is taken as UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def parse_timestamp(text: Any) -> float | None:
    """Return the time in Unix seconds; None if the text is not a time."""
    try:
        timestamp = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return (timestamp if timestamp.tzinfo else timestamp.replace(tzinfo=UTC)).timestamp()
