"""Compare two answers by value, with the library math-verify: 1/2 and 0.5, x^2 - 1 and (x - 1)(x + 1).

The library stops slow comparisons with a signal, which only a main thread can receive; rewards are scored in another.
So its time limit is off, and the work is limited by bounds on the answer (`math_bounds`) and by a number of function
calls, which do not depend on the speed of the machine. An answer above a limit is not equivalent. Only one that is near
the limit of calls may be judged otherwise by another process, which has other results in its caches.
"""

from __future__ import annotations

import functools
import logging
import re
import sys
import threading
from fractions import Fraction
from types import FrameType
from typing import Any

from workers.analysis.right.math_form import plain_form, rational
from workers.config import ConfigError, Problem
from workers.tasks.math_bounds import is_comparable

MAX_CALLS = 5_000_000
"""Calls and returns of functions in one comparison, one to four seconds. Usual answers take a fiftieth of it."""
WARM_UP = (
    ("x^2 + 2x + 1", "(x + 1)^2"),
    (r"\{1, 2\}", "2, 1"),
    ("[1, 2)", r"[1, \frac{4}{2})"),
    ("y = 2x", "2x - y = 0"),
    (r"\text{even}", "odd"),
    (r"2\sqrt{2}", r"\sqrt{8}"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}1\\3\end{pmatrix}"),
)
"""Comparisons that load the libraries' modules and tables, so that no later one pays for them from its calls."""
MISSING = (
    "is math, which needs the library math-verify, and it is not installed here: install it with "
    "requirements/install.sh train, or pip install 'math-verify[antlr4-13-2]'"
)
MAX_RELATIVE_ERROR = Fraction(1, 100_000)
"""Between two numbers of equal value, one of which is rounded: 1/3 and 0.333333."""
BASE = re.compile(r"[0-9A-Z]_\s?\{?\s?(\d{1,2})\s?\}?\Z")
QUALIFIED = re.compile(r"\\text\s?\{[^{}]{0,200}\b(?:more|less|least|most|than|not|is|wrong)\b")
"""Words that make an answer another one than its number."""
LOCK = threading.Lock()
"""The libraries share caches and a random generator between threads."""


class TooManyCalls(BaseException):
    """A comparison that was stopped. No Exception, because the libraries catch those and continue."""


def require_library() -> None:
    """Raise ConfigError if math-verify is not installed. Load it, which takes about two seconds."""
    try:
        import math_verify  # noqa: F401
    except ModuleNotFoundError as error:
        raise ConfigError([Problem("task.name", MISSING)]) from error
    # It warns once per process that its time limit is off.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    _warm_up()


@functools.cache
def _warm_up() -> None:
    from math_verify import verify

    for reference, answer in WARM_UP:
        verify(list(_parse(reference)), list(_parse(answer)), timeout_seconds=None)


def are_equivalent(reference: str, answer: str) -> bool:
    """Return whether the answer has the reference's value. Any text is legal; text that is no formula has no value."""
    reference, answer = plain_form(reference), plain_form(answer)
    if not is_comparable(reference) or not is_comparable(answer) or _differ(reference, answer):
        return False
    from math_verify import verify
    from sympy.core.random import seed

    with LOCK:
        limit = _CallLimit(MAX_CALLS)
        try:
            with limit:
                seed(0)
                values = list(_parse(reference)), list(_parse(answer))
                return bool(verify(*values, timeout_seconds=None))
        except TooManyCalls:
            return False


def _differ(reference: str, answer: str) -> bool:
    """Return whether the answer has another value by a rule that the library lacks.

    It rounds to six decimals, drops the base of 100_8, takes 10 from 2=10, and 3 from 3\\text{ or more}.
    """
    expected, value = rational(reference), rational(answer)
    if expected is not None and value is not None and "%" not in f"{reference}{answer}":
        return abs(expected - value) > MAX_RELATIVE_ERROR * max(abs(expected), abs(value))
    left, equals, right = answer.rpartition("=")
    if equals and rational(left) is not None and rational(left) != rational(right):
        return True
    base, expected_base = BASE.search(answer), BASE.search(reference)
    if base and base[1] != (expected_base[1] if expected_base else "10"):
        return True
    return QUALIFIED.search(answer) is not None and QUALIFIED.search(reference) is None


@functools.lru_cache(maxsize=4096)
def _parse(answer: str) -> tuple[Any, ...]:
    """Return the answer as the library's values: an expression and the text, or fewer."""
    from math_verify import LatexExtractionConfig, parse

    config = LatexExtractionConfig(boxed_match_priority=0, try_extract_without_anchor=False)
    return tuple(parse(rf"\boxed{{{answer.rstrip(' .')}}}", [config], parsing_timeout=None))


class _CallLimit:
    """Raise TooManyCalls in this thread after so many function calls. Another profiler pauses meanwhile."""

    def __init__(self, calls: int) -> None:
        self._left = calls

    def __enter__(self) -> None:
        self._profiler = sys.getprofile()
        sys.setprofile(self._count)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._profiler)

    def _count(self, frame: FrameType, event: str, argument: object) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooManyCalls
