"""Times that files say, in whatever form ISO 8601 has for them; without a zone they are taken as UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any


def moment(text: Any) -> float | None:
    """In Unix seconds; None where it says none."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
