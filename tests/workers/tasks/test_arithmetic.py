"""Expressions are worked out exactly, whatever the text, and never by Python itself."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from workers.tasks.arithmetic import DEEPEST, LONGEST, NotArithmetic, numbers_in, value_of


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "()", "1 +", "* 2", "(1", "1)", "1 2", "2(3)", "(1)(2)", "1 + + ", "07", "00", "1 / 0", "1 / (2 - 2)",
        "9**9**9", "7 // 2", "1.5", "1e3", "1_000", "0x10", "a", "2 ^ 3", "1\n+ 2", "1\t+ 2", "1,2", "5!",
        "__import__('os')", "٣ + ٤", "３ + ４", "²", "1 × 2", "1 − 2",
    ],
)  # fmt: skip
def test_what_is_no_expression_has_no_value(text: str) -> None:
    with pytest.raises(NotArithmetic):
        value_of(text)


def test_it_agrees_with_python_on_expressions_of_chance() -> None:
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


def test_the_numbers_of_an_expression_are_found_signs_aside() -> None:
    assert numbers_in("-(44 + 19) / 44") == [44, 19, 44]


def test_brackets_may_stand_within_each_other_but_not_without_end() -> None:
    assert value_of("(" * DEEPEST + "1" + ")" * DEEPEST) == 1
    with pytest.raises(NotArithmetic, match="within each other"):
        value_of("(" * (DEEPEST + 1) + "1" + ")" * (DEEPEST + 1))


@pytest.mark.parametrize("text", ["(" * 10**6, "-" * 10**6 + "1", "9" * 10**6, "9*" * 10**6 + "9", " " * 10**6])
def test_a_million_characters_are_refused_for_their_length(text: str) -> None:
    with pytest.raises(NotArithmetic, match=f"at most {LONGEST} characters"):
        value_of(text)


def test_the_longest_expression_is_worked_out() -> None:
    assert value_of(("9*" * 1000)[: LONGEST - 1]) == 9**1000
    assert value_of("-" * (LONGEST - 1) + "1") == -1
    assert value_of("9" * LONGEST) == 10**LONGEST - 1
