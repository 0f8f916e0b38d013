"""What can go wrong, each kind with an exit code of its own, so that scripts need not read words."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

REFUSED = 1
BAD_INPUT = 2
NOT_ALLOWED = 3
NOT_FOUND = 4
AWAY = 5
ENDED_BADLY = 6
CODES = """exit codes: 0 well, 1 refused, 2 bad input, 3 not signed in or not allowed, 4 not found,
5 the server does not answer, 6 a watched run ended without success, 130 interrupted"""


class Failure(Exception):
    """A command that cannot go on. `problems` are (path, message), all that is wrong at once."""

    def __init__(self, code: int, words: str, problems: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(words)
        self.code = code
        self.words = words
        self.problems = problems


def tell(failure: Failure, *, as_json: bool) -> None:
    """Says on stderr what went wrong."""
    if as_json:
        problems = [{"path": path, "message": message} for path, message in failure.problems]
        said: dict[str, Any] = {"error": failure.words, "code": failure.code, "problems": problems}
        print(json.dumps(said), file=sys.stderr)
        return
    print(f"esweb: {failure.words}", file=sys.stderr)
    for path, message in failure.problems:
        print(f"  {path}: {message}", file=sys.stderr)
