"""What a judgment's prompt is called where its row names none: each is its own, and known again by what was judged.

The name is made of all that the row says but for what came out, and of how many rows of the file said the same before
it. So a file that was renamed, or has gone on, or says something else now of a pair, counts nothing twice.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

CAME_OUT = ("scores", "winner", "g1_winner", "g2_winner")
DIGITS = 20
NAME = re.compile(rf"unnamed [0-9a-f]{{{DIGITS}}}")


def alone(row: Mapping[str, Any], before: Counter[bytes]) -> str:
    """The prompt's name. before: what was judged in earlier rows of the file; this row is added."""
    judged = {key: value for key, value in row.items() if key not in CAME_OUT}
    found = sha256(json.dumps(judged, sort_keys=True).encode())
    key = found.digest()[: DIGITS // 2]
    before[key] += 1
    found.update(str(before[key]).encode())
    return f"unnamed {found.hexdigest()[:DIGITS]}"


def is_alone(prompt: str) -> bool:
    """True of such a name."""
    return NAME.fullmatch(prompt) is not None
