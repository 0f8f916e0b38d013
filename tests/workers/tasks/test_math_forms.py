r"""Answers as MATH writes them, drawn from their grammar: each equals itself, however it is typeset, and no other.

The grammar is that of the references of MATH (arXiv 2103.03874): numbers, fractions, surds, intervals, tuples, sets,
matrices, expressions, equations, numbers with units, in another base, and words.
"""

from __future__ import annotations

import string
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from workers.analysis.right import is_right
from workers.analysis.right.math_form import rational
from workers.config import MathOptions
from workers.tasks.base import Example
from workers.tasks.math_answer import final_answer, normalise
from workers.tasks.mathematics import Mathematics

UNITS = ("cm", "meters", "dollars", "square units", "degrees", "miles per hour", "km/h", "inches", "kg")
EXAMPLES = settings(max_examples=120, deadline=None, database=None)

digit = some.integers(1, 9).map(str)
integer = some.integers(-999, 999).map(str)
decimal = some.decimals(-99, 99, places=2).map(lambda value: f"{value:.2f}")
fraction = some.builds(r"\frac{{{}}}{{{}}}".format, some.integers(1, 99), some.integers(2, 99))
surd = some.builds(r"{}\sqrt{{{}}}".format, some.one_of(some.just(""), digit), some.integers(2, 99))
ratio = some.builds(r"\frac{{{}}}{{{}}}".format, surd, some.integers(2, 9))
number = some.one_of(integer, decimal, fraction, surd, ratio, some.just(r"\pi"), digit.map(r"{}\pi".format))
expression = some.builds("{}x^{} {} {}x {} {}".format, digit, digit, *(some.sampled_from("+-"), digit) * 2)
interval = some.builds(
    r"\left{}{}, {}\right{}".format, some.sampled_from("[("), number, number, some.sampled_from("])")
)
union = some.builds(r"(-\infty, {}) \cup {}".format, number, interval)
items = some.lists(number, min_size=2, max_size=4).map(", ".join)
matrix = some.builds(r"\begin{{pmatrix}} {} & {} \\ {} & {} \end{{pmatrix}}".format, *[number] * 4)
word = some.text(string.ascii_letters, min_size=2, max_size=12)
reference = some.one_of(
    number, expression, interval, union, items, matrix,
    items.map(r"\left( {} \right)".format), items.map(r"\{{ {} \}}".format), expression.map("y = {}".format),
    some.builds(r"{}\text{{ {}}}".format, number, some.sampled_from(UNITS)), integer.map(r"{}^\circ".format),
    integer.map(r"{}\%".format), integer.map(r"\${}".format), some.builds("{}_{}".format, digit, digit),
    word, word.map(r"\text{{{}}}".format), some.sampled_from("ABCD").map(r"\text{{({})}}".format),
)  # fmt: skip
TYPESETTINGS = (
    lambda text: text,
    lambda text: text.replace(r"\frac", r"\dfrac"),
    lambda text: text.replace(r"\frac", r"\tfrac"),
    lambda text: text.replace(r"\left", "").replace(r"\right", ""),
    lambda text: text.replace(", ", ","),
    lambda text: f"${text}$",
    lambda text: rf"\({text}\)",
    lambda text: rf"\, {text} ",
    lambda text: f"{text}.",
)


@EXAMPLES
@given(reference, some.sampled_from(TYPESETTINGS))
def test_reference_equals_itself_however_it_is_typeset(answer: str, typeset) -> None:  # type: ignore[no-untyped-def]
    text = rf"So it is $\boxed{{{typeset(answer)}}}$. I wrote \boxed as you asked. Check: \boxed{{"
    assert final_answer(text) == typeset(answer).strip()
    assert normalise(final_answer(text)) == normalise(answer) != ""
    assert is_right(text, answer, "How much is it?")


@EXAMPLES
@given(some.integers(0, 99), some.integers(2, 99), some.data())
def test_mixed_number_is_the_sum_of_its_parts(whole: int, parts: int, data: some.DataObject) -> None:
    part = data.draw(some.integers(1, parts - 1))
    value = whole + Fraction(part, parts)
    for sign in ("", "-"):
        for form in (
            f"{whole} {part}/{parts}",
            rf"{whole}\frac{{{part}}}{{{parts}}}",
            rf"{whole} \tfrac{{{part}}}{{{parts}}}",
        ):
            assert rational(sign + form) == (-value if sign else value)
            assert rational(final_answer(f"It is {sign}{form}.")) == (-value if sign else value)
    joined = f"{whole}{part}/{parts}"
    assert Fraction(joined) == value or normalise(f"{whole} {part}/{parts}") != normalise(joined)


@EXAMPLES
@given(some.integers(0, 10**9), some.sampled_from(UNITS))
def test_number_equals_itself_with_thousands_and_units_and_no_other_number(value: int, unit: str) -> None:
    comma, typeset = f"{value:,}", f"{value:,}".replace(",", r",\!")
    for form in (
        comma,
        typeset,
        rf"\${typeset}",
        rf"{comma}\text{{ {unit}}}",
        f"{value} {unit}",
        rf"{value}\%",
        f"{comma}.",
    ):
        assert normalise(form) == normalise(str(value))
        assert normalise(form) != normalise(str(value + 1))


@pytest.mark.parametrize("other", ["or", "and", "is not", "to"])
def test_two_numbers_with_a_word_between_are_not_the_first(other: str) -> None:
    task = Mathematics(MathOptions())
    for first, second in ((7, 8), (12, 30)):
        response = rf"\boxed{{{first}\text{{ {other} }}{second}}}"
        assert task.score(Example("x", ({"role": "user", "content": "Q"},), str(first)), response).reward == 0
