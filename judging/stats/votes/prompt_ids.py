"""Names for the prompts of judgments whose rows name none: each row has its own prompt.

The name is a hash of all fields of the row without its results, and of the number of equal rows before it in the file.
So if a file was renamed, has grown, or has another result for a pair, nothing counts twice.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

RESULT_KEYS = ("scores", "winner", "preference", "g1_winner", "g2_winner")
DIGITS = 20
NAME = re.compile(rf"unnamed [0-9a-f]{{{DIGITS}}}")


def unnamed_prompt_id(row: Mapping[str, Any], before: Counter[bytes]) -> str:
    """Return the prompt's name. before: counts of the earlier rows of the file; this row is added."""
    judged = {key: value for key, value in row.items() if key not in RESULT_KEYS}
    digest = sha256(json.dumps(judged, sort_keys=True).encode())
    key = digest.digest()[: DIGITS // 2]
    before[key] += 1
    digest.update(str(before[key]).encode())
    return f"unnamed {digest.hexdigest()[:DIGITS]}"


def is_unnamed_prompt(prompt: str) -> bool:
    """Return whether the name was made by `unnamed_prompt_id`."""
    return NAME.fullmatch(prompt) is not None
