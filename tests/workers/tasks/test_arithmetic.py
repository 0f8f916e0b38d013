"""Expressions are evaluated exactly for any text, and never by Python itself."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tests.cases import each_case
from workers.tasks.arithmetic import MAX_CHARACTERS, MAX_DEPTH, NotArithmetic, numbers_in, value_of


@each_case(
    ("text", "value"),
    [
        ("7", 7),
        (" ( 44 + 19 ) + 35 ", 98),
        ("2 + 3 * 4", 14),
        ("20 - 5 - 5", 10),
        ("100 / 5 / 2", 10),
        ("1 / 3 * 3", 1),
        ("10 / 4", Fraction(5, 2)),
        ("-5 + 7", 2),
        ("-2 * -3", 6),
        ("--5", 5),
        ("3 - -4", 7),
        ("+1", 1),
        ("-(2 + 3)", -5),
        ("0", 0),
    ],
)
def test_an_expression_has_its_exact_value(text: str, value: Fraction | int) -> None:
    assert value_of(text) == value


@each_case(
    "text",
    [
        "", " ", "()", "1 +", "* 2", "(1", "1)", "1 2", "2(3)", "(1)(2)", "1 + + ", "07", "00", "1 / 0", "1 / (2 - 2)",
        "9**9**9", "7 // 2", "1.5", "1e3", "1_000", "0x10", "a", "2 ^ 3", "1\n+ 2", "1\t+ 2", "1,2", "5!",
        "__import__('os')", "٣ + ٤", "３ + ４", "²", "1 × 2", "1 − 2",
    ],
)  # fmt: skip
def test_invalid_expression_is_refused(text: str) -> None:
    with pytest.raises(NotArithmetic):
        value_of(text)


def test_random_expressions_match_python() -> None:
    rng = random.Random(0)

    def expression(depth: int) -> str:
        if depth == 0 or rng.random() < 0.3:
            return str(rng.randint(1, 20))
        inner = f"{expression(depth - 1)} {rng.choice('+-*/')} {expression(depth - 1)}"
        return rng.choice(("({})", "{}", "-({})")).format(inner)

    agreed = 0
    for text in (expression(4) for _ in range(500)):
        try:
            # Python's own reading of the same text, with each number made a fraction.
            expected = eval(  # noqa: S307
                "".join(f"F({t})" if t.isdigit() else t for t in text.replace("(", " ( ").replace(")", " ) ").split()),
                {"F": Fraction},
            )
        except ZeroDivisionError:
            with pytest.raises(NotArithmetic, match="zero"):
                value_of(text)
            continue
        assert value_of(text) == expected
        agreed += 1
    assert agreed > 400


def test_numbers_of_expression_are_listed_without_signs() -> None:
    assert numbers_in("-(44 + 19) / 44") == [44, 19, 44]


def test_nesting_of_brackets_is_limited() -> None:
    assert value_of("(" * MAX_DEPTH + "1" + ")" * MAX_DEPTH) == 1
    with pytest.raises(NotArithmetic, match="nested at most"):
        value_of("(" * (MAX_DEPTH + 1) + "1" + ")" * (MAX_DEPTH + 1))


@pytest.mark.parametrize("text", ["(" * 10**6, "-" * 10**6 + "1", "9" * 10**6, "9*" * 10**6 + "9", " " * 10**6])
def test_a_million_characters_are_refused_for_their_length(text: str) -> None:
    with pytest.raises(NotArithmetic, match=f"at most {MAX_CHARACTERS} characters"):
        value_of(text)


def test_longest_expression_has_a_value() -> None:
    assert value_of(("9*" * 1000)[: MAX_CHARACTERS - 1]) == 9**1000
    assert value_of("-" * (MAX_CHARACTERS - 1) + "1") == -1
    assert value_of("9" * MAX_CHARACTERS) == 10**MAX_CHARACTERS - 1
