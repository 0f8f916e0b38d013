"""Evaluate an expression such as `(44 + 19) - 35 / 7`, exactly, without `eval`.

Allowed are whole numbers in the digits 0 to 9, + - * /, signs, round brackets and spaces. Other operators of Python,
`**`, `//`, decimals, are not arithmetic here. Any text is safe: length and nesting are bounded.

    expression = term {(+ | -) term}
    term       = factor {(* | /) factor}
    factor     = {+ | -} (number | "(" expression ")")
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

MAX_CHARACTERS = 2000
"""In characters. Numbers, and the fractions that can be made of them, are no longer."""
MAX_DEPTH = 50
"""Levels of nested brackets."""
ALLOWED = re.compile(r"[0-9+\-*/() ]+")
TOKEN = re.compile(r"[0-9]+|[+\-*/()]")
NUMBER = re.compile(r"[0-9]+")


class NotArithmetic(ValueError):
    """A text that is no expression, or one without a value: 1 / 0."""


def numbers_in(text: str) -> list[int]:
    """Return the numbers of an expression in their order, without signs. Raise NotArithmetic for any other text."""
    return [_number(token) for token in NUMBER.findall(_checked(text))]


def value_of(text: str) -> Fraction:
    """Return the exact value. Raise NotArithmetic for everything that is no expression."""
    return _Reader(TOKEN.findall(_checked(text))).value()


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


class _Reader:
    """A recursive descent over the tokens."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def value(self) -> Fraction:
        value = self._expression(0)
        if self._at < len(self._tokens):
            raise NotArithmetic(f"{self._tokens[self._at]!r} follows the end of the expression")
        return value

    def _expression(self, depth: int) -> Fraction:
        value = self._term(depth)
        while sign := self._take("+-"):
            value = value + self._term(depth) if sign == "+" else value - self._term(depth)
        return value

    def _term(self, depth: int) -> Fraction:
        value = self._factor(depth)
        while sign := self._take("*/"):
            factor = self._factor(depth)
            if sign == "/" and not factor:
                raise NotArithmetic("it divides by zero")
            value = value * factor if sign == "*" else value / factor
        return value

    def _factor(self, depth: int) -> Fraction:
        sign = 1
        while operator := self._take("+-"):
            sign = -sign if operator == "-" else sign
        if self._take("("):
            return sign * self._bracket(depth + 1)
        token = self._next()
        if not token[:1].isdigit():
            raise NotArithmetic(f"a number is missing before {token or 'the end'!r}")
        self._at += 1
        return Fraction(sign * _number(token))

    def _bracket(self, depth: int) -> Fraction:
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
