"""Answers are compared by value, and no answer holds up a run."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.cases import each_case
from workers.config import ConfigError, MathOptions
from workers.tasks.math_bounds import is_comparable
from workers.tasks.math_equivalence import are_equivalent, require_library
from workers.tasks.mathematics import Mathematics

EQUAL = [
    ("42", "42.0"),
    ("42", "42."),
    ("1000", "1,000"),
    (r"\frac{1}{2}", "0.5"),
    (r"\frac{1}{3}", "0.333333"),
    (r"2\sqrt{2}", r"\sqrt{8}"),
    ("x^2+2x+1", "(x+1)^2"),
    (r"(0,9)\cup(9,36)", r"$(0, 9) \cup (9, 36)$"),
    (r"\text{Evelyn}", "Evelyn"),
    ("5", "x = 5"),
    ("18", r"\$18"),
    ("2^{10}", "1024"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix} 1 \\ \frac{4}{2} \end{pmatrix}"),
]
UNEQUAL = [
    ("42", "43"),
    ("42", "4 2 0"),
    (r"\frac{1}{3}", "0.333"),
    ("(1,2)", "(2,1)"),
    ("[1,2)", "[1,2]"),
    (r"\text{east}", r"\text{west}"),
    ("x+1", "x+2"),
    ("42", ""),
    ("", "42"),
    ("42", "no formula at all {"),
]
ENDLESS = [
    "9^{9^{9^9}}", "9^9^9", "9^{999999999}", "((9^{99})^{99})^{99}", "{9^{99}}^{99}^{99}", "9999!", "(9^{99})!", "9!!",
    r"\binom{1000000000}{500000000}", r"\sum_{n=1}^{1000000000} n", r"\sqrt[\frac{1}{999999999}]{9}", "(999999999)_{2}",
    "2**999999999", r"9^{99 \cdot 99 \cdot 99}", "(0, 9^{999999999})", "1" * 301,
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    require_library()


@each_case(("reference", "answer"), EQUAL)
def test_another_form_of_a_value_is_equivalent(reference: str, answer: str) -> None:
    assert are_equivalent(reference, answer)


@each_case(("reference", "answer"), UNEQUAL)
def test_another_value_is_not_equivalent(reference: str, answer: str) -> None:
    assert not are_equivalent(reference, answer)


@each_case("answer", ENDLESS, ids=lambda text: text[:20])
def test_an_answer_that_would_take_hours_is_not_compared(answer: str) -> None:
    assert not is_comparable(answer)
    assert not are_equivalent("5", answer)


@each_case(
    "answer",
    ["x^{10}+x^9+x^8", "(x-1)^2(x+1)^3", "2^{64}", "5!", r"\sqrt[3]{2}", "x^{-2}", r"x^{\frac{1}{2}}", r"e^{2x}"],
)
def test_usual_powers_keep_the_bounds(answer: str) -> None:
    assert is_comparable(answer)


@pytest.mark.parametrize("answer", ["(" * 140 + "1" + ")" * 140, "{" * 20 + "5" + "}" * 20, "(x+y+z)^{99}"])
def test_a_comparison_ends_after_its_calls(answer: str) -> None:
    assert is_comparable(answer)
    assert not are_equivalent("x+1", answer)
    assert sys.getprofile() is None
    assert are_equivalent("x+1", "1+x")


def test_answers_are_compared_in_any_thread(caplog: pytest.LogCaptureFixture) -> None:
    verdicts: list[bool] = []
    thread = threading.Thread(target=lambda: verdicts.extend(are_equivalent(*pair) for pair in (EQUAL[3], UNEQUAL[0])))
    with caplog.at_level(logging.WARNING):
        thread.start()
        thread.join()
    assert verdicts == [True, False]
    assert caplog.text == ""


def test_verdicts_do_not_depend_on_the_seed_of_hashes() -> None:
    program = (
        "import json, sys; from workers.tasks.math_equivalence import are_equivalent, require_library; "
        "require_library(); print(json.dumps([are_equivalent(*pair) for pair in json.load(sys.stdin)]))"
    )
    pairs = [*EQUAL, *UNEQUAL, ("y=2x+3", "y-2x=3"), ("x+y+z", "z+x+y"), (r"\{a,b,c\}", "c,b,a")]
    output = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(pairs), env=os.environ | {"PYTHONHASHSEED": "1"},
        cwd=Path(__file__).parents[3], capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    expected = [True] * len(EQUAL) + [False] * len(UNEQUAL) + [True] * 3
    assert json.loads(output) == expected
    # This process has another seed.
    assert [are_equivalent(*pair) for pair in pairs] == expected


def test_a_missing_library_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "math_verify", None)
    with pytest.raises(ConfigError, match=r"task\.name: .*math-verify.*requirements/install\.sh train"):
        Mathematics(MathOptions())


def test_the_tasks_are_imported_without_the_library() -> None:
    program = "import sys, workers.tasks; print(sorted({'math_verify', 'sympy', 'torch'} & set(sys.modules)))"
    root = Path(__file__).parents[3]
    output = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True)
    assert output.stdout.strip() == "[]"
