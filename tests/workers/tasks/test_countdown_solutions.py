"""Canonical forms of Countdown's expressions, and the list of all solutions against every expression written out."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import pytest

from workers.config import CountdownOptions
from workers.tasks.arithmetic import NotArithmetic, value_of
from workers.tasks.countdown import Countdown
from workers.tasks.countdown_solutions import canonical, solutions


@pytest.mark.parametrize(
    "equal",
    [
        ("(7 - 5) + 2", "2 + 7 - 5", "7 - (5 - 2)", "-(5 - 2) + 7", "--7 + 2 - 5"),
        ("3 * (4 + 1)", "(1 + 4) * 3", "-3 * (-4 - 1)"),
        ("(7 - 2) * 3", "-(2 - 7) * 3", "(2 - 7) * (-3)"),
        ("8 / 4 * 2", "2 * 8 / 4", "8 / (4 / 2)"),
        ("5 * 1", "5 / 1", "1 * 5"),
        ("5 + 0", "5 - 0", "0 + 5"),
    ],
)
def test_expressions_that_differ_in_order_and_brackets_are_equal(equal: tuple[str, ...]) -> None:
    assert len({canonical(expression) for expression in equal}) == 1


def test_other_expressions_of_the_same_value_stay_different() -> None:
    different = ("2 * (3 + 4)", "2 * 3 + 2 * 4", "14", "28 / 2", "7 + 7")
    assert len({canonical(expression) for expression in different}) == len(different)


@pytest.mark.parametrize("expression", ["(7 - 5) + 2", "8 / (4 / 2)", "-(2 - 7) * 3", "(1 + 2) / (3 + 4)", "0 - 5 / 1"])
def test_canonical_form_is_an_expression_of_equal_value_and_its_own_form(expression: str) -> None:
    form = canonical(expression)

    assert value_of(form) == value_of(expression)
    assert canonical(form) == form


@pytest.mark.parametrize("numbers", [(2, 3, 7), (1, 4, 4), (6, 6, 6), (0, 3, 5)])
def test_solutions_are_all_expressions_of_three_numbers(numbers: tuple[int, int, int]) -> None:
    by_value: dict[Fraction, set[str]] = {}
    for (a, b, c), (f, g) in product(permutations(numbers), product("+-*/", repeat=2)):
        for expression in (f"({a} {f} {b}) {g} {c}", f"{a} {f} ({b} {g} {c})"):
            try:
                by_value.setdefault(value_of(expression), set()).add(canonical(expression))
            except NotArithmetic:
                continue
    assert len(by_value) > 5
    for target, expected in by_value.items():
        assert solutions(numbers, target) == expected


def test_four_numbers_have_solutions_that_the_checker_accepts_and_five_are_not_listed() -> None:
    listed = solutions((2, 3, 5, 7), Fraction(24))

    assert listed is not None
    assert "2 + 3 * 5 + 7" in listed
    assert all(value_of(solution) == 24 for solution in listed)
    assert solutions((1, 2, 3, 4, 5), Fraction(24)) is None


def test_task_gives_the_form_of_correct_responses_alone() -> None:
    task = Countdown(CountdownOptions())
    example = task.examples("eval")[0]
    listed = task.solutions(example)
    assert listed

    solution = min(listed)
    assert task.solution(example, f"<think>so</think>\n<answer>{solution}</answer>") == solution
    assert task.solution(example, "<think>so</think>\n<answer>1 + 1</answer>") is None
    assert task.solution(example, solution) is None
