"""Errors of the command line, each kind with an exit code of its own, so that scripts need not parse text."""

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
CODES = """exit codes: 0 success, 1 refused, 2 bad input, 3 not signed in or not allowed, 4 not found,
5 the server does not answer, 6 a watched run or test did not succeed, 130 interrupted"""


class Failure(Exception):
    """A command that cannot continue. `problems` are (path, message), all mistakes together."""

    def __init__(self, code: int, message: str, problems: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.problems = problems


def print_failure(failure: Failure, *, as_json: bool) -> None:
    """Print the failure on stderr."""
    if as_json:
        problems = [{"path": path, "message": message} for path, message in failure.problems]
        data: dict[str, Any] = {"error": failure.message, "code": failure.code, "problems": problems}
        print(json.dumps(data), file=sys.stderr)
        return
    print(f"esweb: {failure.message}", file=sys.stderr)
    for path, message in failure.problems:
        print(f"  {path}: {message}", file=sys.stderr)
