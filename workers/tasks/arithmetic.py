"""Works out an expression such as `(44 + 19) - 35 / 7`, exactly, without `eval`.

What may stand in it: whole numbers in the digits 0 to 9, + - * /, signs, round brackets and spaces. What Python would
also take, `**`, `//`, decimals, is no arithmetic here. Any text is safe to give: length and nesting are bounded.

    expression = term {(+ | -) term}
    term       = factor {(* | /) factor}
    factor     = {+ | -} (number | "(" expression ")")
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

LONGEST = 2000
"""Characters. Numbers, and the fractions that can be made of them, are no longer."""
DEEPEST = 50
"""Brackets within brackets."""
ALLOWED = re.compile(r"[0-9+\-*/() ]+")
TOKEN = re.compile(r"[0-9]+|[+\-*/()]")
NUMBER = re.compile(r"[0-9]+")


class NotArithmetic(ValueError):
    """A text that is no expression, or one without a value: 1 / 0."""


def numbers_in(text: str) -> list[int]:
    """The numbers of an expression in their order, signs aside. Raises NotArithmetic where one cannot be in one."""
    return [_number(token) for token in NUMBER.findall(_checked(text))]


def value_of(text: str) -> Fraction:
    """The exact value. Raises NotArithmetic for everything that is no expression."""
    return _Reader(TOKEN.findall(_checked(text))).value()


def _checked(text: str) -> str:
    if len(text) > LONGEST:
        raise NotArithmetic(f"an expression has at most {LONGEST} characters, not {len(text)}")
    if not ALLOWED.fullmatch(text):
        raise NotArithmetic("an expression holds digits, + - * / ( ) and spaces only")
    return text


def _number(token: str) -> int:
    # As in Python, where 07 is an error, so that it is not taken for the 7 that was to be used.
    if token[0] == "0" and len(token) > 1:
        raise NotArithmetic(f"the number {token[:20]} begins with a zero")
    return int(token)


class _Reader:
    """Recursive descent over the tokens."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def value(self) -> Fraction:
        value = self._expression(0)
        if self._at < len(self._tokens):
            raise NotArithmetic(f"{self._tokens[self._at]!r} stands where the expression should end")
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
        while found := self._take("+-"):
            sign = -sign if found == "-" else sign
        if self._take("("):
            return sign * self._bracket(depth + 1)
        token = self._next()
        if not token[:1].isdigit():
            raise NotArithmetic(f"a number is missing before {token or 'the end'!r}")
        self._at += 1
        return Fraction(sign * _number(token))

    def _bracket(self, depth: int) -> Fraction:
        if depth > DEEPEST:
            raise NotArithmetic(f"at most {DEEPEST} brackets stand within each other")
        value = self._expression(depth)
        if not self._take(")"):
            raise NotArithmetic("a bracket is not closed")
        return value

    def _take(self, signs: str) -> str:
        """The next token where it is one of `signs`, which is then behind us; "" where it is not."""
        token = self._next()
        if token and token in signs:
            self._at += 1
            return token
        return ""

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""
