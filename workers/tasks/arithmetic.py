"""Evaluate an expression such as `(44 + 19) - 35 / 7`, exactly, without `eval`.

Allowed are whole numbers in the digits 0 to 9, + - * /, signs, round brackets and spaces. Other operators of Python,
`**`, `//`, decimals, are not arithmetic here. Any text is safe: length and nesting are bounded.

    expression = term {(+ | -) term}
    term       = factor {(* | /) factor}
    factor     = {+ | -} (number | "(" expression ")")
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Generic, Protocol, Self, TypeVar

MAX_CHARACTERS = 2000
"""In characters. Numbers, and the fractions that can be made of them, are no longer."""
MAX_DEPTH = 50
"""Levels of nested brackets."""
ALLOWED = re.compile(r"[0-9+\-*/() ]+")
TOKEN = re.compile(r"[0-9]+|[+\-*/()]")
NUMBER = re.compile(r"[0-9]+")


class Number(Protocol):
    """A value that expressions can be evaluated in."""

    def __add__(self, other: Self, /) -> Self: ...
    def __sub__(self, other: Self, /) -> Self: ...
    def __mul__(self, other: Self, /) -> Self: ...
    def __truediv__(self, other: Self, /) -> Self: ...
    def __neg__(self) -> Self: ...
    def __bool__(self) -> bool: ...


V = TypeVar("V", bound=Number)


class NotArithmetic(ValueError):
    """A text that is no expression, or one without a value: 1 / 0."""


def numbers_in(text: str) -> list[int]:
    """Return the numbers of an expression in their order, without signs. Raise NotArithmetic for any other text."""
    return [_number(token) for token in NUMBER.findall(_checked(text))]


def value_of(text: str) -> Fraction:
    """Return the exact value. Raise NotArithmetic for everything that is no expression."""
    return evaluate(text, Fraction)


def evaluate(text: str, number: Callable[[int], V]) -> V:
    """Return the expression's value in the numbers that `number` makes, which support + - * / and −, and are false if
    they are 0. Raise NotArithmetic for everything that is no expression."""
    return _Reader(TOKEN.findall(_checked(text)), number).value()


def _checked(text: str) -> str:
    if len(text) > MAX_CHARACTERS:
        raise NotArithmetic(f"an expression may have at most {MAX_CHARACTERS} characters, not {len(text)}")
    if not ALLOWED.fullmatch(text):
        raise NotArithmetic("an expression may contain only digits, + - * / ( ) and spaces")
    return text


def _number(token: str) -> int:
    # Refused as in Python, so that 07 does not count as the required 7.
    if token[0] == "0" and len(token) > 1:
        raise NotArithmetic(f"the number {token[:20]} begins with a zero")
    return int(token)


class _Reader(Generic[V]):
    """A recursive descent over the tokens."""

    def __init__(self, tokens: Sequence[str], number: Callable[[int], V]) -> None:
        self._tokens = tokens
        self._make = number
        self._at = 0

    def value(self) -> V:
        value = self._expression(0)
        if self._at < len(self._tokens):
            raise NotArithmetic(f"{self._tokens[self._at]!r} follows the end of the expression")
        return value

    def _expression(self, depth: int) -> V:
        value = self._term(depth)
        while sign := self._take("+-"):
            value = value + self._term(depth) if sign == "+" else value - self._term(depth)
        return value

    def _term(self, depth: int) -> V:
        value = self._factor(depth)
        while sign := self._take("*/"):
            factor = self._factor(depth)
            if sign == "/" and not factor:
                raise NotArithmetic("it divides by zero")
            value = value * factor if sign == "*" else value / factor
        return value

    def _factor(self, depth: int) -> V:
        negative = False
        while operator := self._take("+-"):
            negative ^= operator == "-"
        if self._take("("):
            inner = self._bracket(depth + 1)
            return -inner if negative else inner
        token = self._next()
        if not token[:1].isdigit():
            raise NotArithmetic(f"a number is missing before {token or 'the end'!r}")
        self._at += 1
        value = self._make(_number(token))
        return -value if negative else value

    def _bracket(self, depth: int) -> V:
        if depth > MAX_DEPTH:
            raise NotArithmetic(f"brackets may be nested at most {MAX_DEPTH} deep")
        value = self._expression(depth)
        if not self._take(")"):
            raise NotArithmetic("a bracket is not closed")
        return value

    def _take(self, signs: str) -> str:
        """Consume and return the next token if it is one of `signs`; else return ""."""
        token = self._next()
        if token and token in signs:
            self._at += 1
            return token
        return ""

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""
