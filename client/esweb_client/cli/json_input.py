"""Read JSON that a user wrote: in a file, or after --set."""

from __future__ import annotations

import json
from typing import Any


def loads(text: str) -> Any:
    """Return the value of the JSON text. Raise ValueError for other text, and for lists nested too deep to be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("lists and objects are nested too deep") from None
