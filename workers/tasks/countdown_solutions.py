"""Solutions of Countdown in a canonical form, in which expressions that differ only in order and brackets are equal.

    (7 - 5) + 2,  2 + 7 - 5,  7 - (5 - 2)        are one solution: 2 - 5 + 7
    3 * (4 + 1),  (1 + 4) * 3                    are one solution: (1 + 4) * 3
    5 * 1,  5 / 1                                are one solution, as are + 0 and - 0

An expression becomes a sum of products of numbers and sums: commutativity, associativity and signs are applied, and no
product is multiplied out, so that 2 * (3 + 4) and 2 * 3 + 2 * 4 stay different.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any, TypeAlias

from workers.tasks.arithmetic import evaluate

Atom: TypeAlias = Any
"""A number, or the terms of a sum that is a factor."""
Product: TypeAlias = tuple[tuple[int, Atom], ...]
"""Factors: (exponent 1 or −1, atom)."""
Term: TypeAlias = tuple[int, Product]
"""(sign 1 or −1, product)."""
MAX_LISTED_NUMBERS = 4
"""Problems with more numbers have too many solutions to list: five take minutes."""


@dataclass(frozen=True)
class Form:
    """The canonical form of an expression, with its exact value. It supports + - * / and is false if it is 0."""

    value: Fraction
    terms: tuple[Term, ...]

    @classmethod
    def number(cls, number: int) -> Form:
        """Return the form of a whole number ≥ 0."""
        return cls(Fraction(number), ((1, ((1, number),)),))

    def __bool__(self) -> bool:
        return bool(self.value)

    def __neg__(self) -> Form:
        return Form(-self.value, _sorted_terms((-sign, product) for sign, product in self.terms))

    def __add__(self, other: Form) -> Form:
        return Form(self.value + other.value, _sorted_terms((*self.terms, *other.terms)))

    def __sub__(self, other: Form) -> Form:
        return self + -other

    def __mul__(self, other: Form) -> Form:
        return self._times(other, 1)

    def __truediv__(self, other: Form) -> Form:
        return self._times(other, -1)

    def _times(self, other: Form, exponent: int) -> Form:
        own_sign, own = _as_product(self.terms)
        sign, factors = _as_product(other.terms)
        value = self.value * other.value if exponent == 1 else self.value / other.value
        product = (*own, *((e * exponent if atom != 1 else 1, atom) for e, atom in factors))
        return Form(value, ((own_sign * sign, tuple(sorted(product, key=_rank))),))

    def __str__(self) -> str:
        return _write(self.terms)


def canonical(expression: str) -> str:
    """Return the canonical form of an expression as text. Raise NotArithmetic for everything that is none."""
    return str(evaluate(expression, Form.number))


@lru_cache(maxsize=4096)
def solutions(numbers: tuple[int, ...], target: Fraction) -> frozenset[str] | None:
    """Return the canonical forms of all solutions that use each number once; None for too many numbers to list.

    Signs before numbers and brackets are not tried: the checker accepts them, and they add few solutions.
    """
    if len(numbers) > MAX_LISTED_NUMBERS:
        return None
    seen: set[tuple[Form, ...]] = set()
    return frozenset(map(str, _reachable(tuple(Form.number(n) for n in sorted(numbers)), target, seen)))


def _reachable(forms: tuple[Form, ...], target: Fraction, seen: set[tuple[Form, ...]]) -> Iterator[Form]:
    """Yield the forms that combine all of `forms` to the target; a set of forms that was tried is not tried again."""
    if len(forms) == 1:
        if forms[0].value == target:
            yield forms[0]
        return
    for i, j in combinations(range(len(forms)), 2):
        others = forms[:i] + forms[i + 1 : j] + forms[j + 1 :]
        for combined in _combinations(forms[i], forms[j]):
            state = tuple(sorted((*others, combined), key=repr))
            if state not in seen:
                seen.add(state)
                yield from _reachable(state, target, seen)


def _combinations(a: Form, b: Form) -> Iterator[Form]:
    yield from (a + b, a - b, b - a, a * b)
    if b:
        yield a / b
    if a:
        yield b / a


def _rank(factor: tuple[int, Atom]) -> tuple[int, bool, str]:
    """Return the place of a factor: those above the fraction line first, and numbers before sums."""
    exponent, atom = factor
    return -exponent, not isinstance(atom, int), repr(atom)


def _sorted_terms(terms: Iterator[Term] | Sequence[Term]) -> tuple[Term, ...]:
    """Return the terms in canonical order. The sign of a 0 does not count."""
    plain = ((1 if product == ((1, 0),) else sign, product) for sign, product in terms)
    return tuple(sorted(plain, key=lambda term: (repr(term[1]), -term[0])))


def _as_product(terms: tuple[Term, ...]) -> Term:
    """Return a sum as one product: a single term is one, and several become one factor with a positive first term."""
    if len(terms) == 1:
        return terms[0]
    sign = terms[0][0]
    return sign, ((1, _sorted_terms([(s * sign, product) for s, product in terms])),)


def _write(terms: Sequence[Term]) -> str:
    texts = [(sign, " * ".join(_write_factor(e, atom) for e, atom in product)) for sign, product in terms]
    first, *others = [("-" if sign < 0 else "+", text.replace(" * 1/", " / ")) for sign, text in texts]
    start = f"-{first[1]}" if first[0] == "-" else first[1]
    return " ".join([start, *(f"{sign} {text}" for sign, text in others)])


def _write_factor(exponent: int, atom: Atom) -> str:
    text = str(atom) if isinstance(atom, int) else f"({_write(atom)})"
    return text if exponent == 1 else f"1/{text}"
