"""Final answers are read and normalised as the published checkers of GSM8K and MATH do."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.cases import each_case
from tests.processor_time import assert_linear
from workers.analysis.right import is_right
from workers.tasks.math_answer import final_answer, marked_answer, normalise
from workers.tasks.math_equivalence import are_equivalent, require_library

SHARED = Path(__file__).parents[3].parent / "shared/data/cases-3/math-last-box/try.py"
UNITS = (
    "\\boxed{", "\\boxed{}", "\\boxed{1}", "\\boxed ", "\\fbox", "{", "}", "\\{", "9", "1,", "1 ", "1/", "2 3/4 ",
    "-", ".1", "#### ", "\\frac", "\\frac1", "1\\frac{", "\\text{", "\\text{ cm}", "a ", "a=", "\\sqrt", " ", "^",
    "^\\circ", "$", "\\ ", ",\\!080",
)  # fmt: skip
"""Repeated, what could make reading an answer take quadratic time."""

# hendrycks/math, modeling/math_equivalence_test.py: two answers, the verdict of `is_equiv`, and ours, which is that or
# equality by value. Ours is more lenient where they differ: the order of a list without brackets does not count.
PUBLISHED = [
    (r"\tfrac{1}{2} + \frac1{72}", r"\\frac{1}{2} + 2/3", False, False),
    ("10, 4, -2", "4, 10, -2", False, True),
    ("10, 4, 2", "4, 12, 2", False, False),
    (r"\tfrac{1}{2} +\! \frac1{72}", r"\\dfrac{1}{2} +\frac{1}{72}", True, True),
    (r"10\text{ units}", "10 ", True, True),
    (r"10\text{ units}", "100 ", False, False),
    ("10", r"\$10", True, True),
    (r"\left(x-2\right)\left(x+2\right)", "(x-2)(x+2)", True, True),
    ("0.1, 4, 2", "4, .1, 2", False, True),
    ("0.1", ".1", True, True),
    (r"10\%", "10", True, True),
    (r"10\sqrt{3} + \sqrt4", r"10\sqrt3 + \sqrt{4}", True, True),
    (r"\frac34i", r"\frac{3}{4}i", True, True),
    (r"\tfrac83", r"\frac{8}{3}", True, True),
    ("5x - 7y + 11z + 4 = 0", "x + y - z + 2 = 0", False, False),
    ("1/2", r"\frac{1}{2}", True, True),
]


@each_case(("reference", "answer", "is_equal", "is_right"), PUBLISHED)
def test_published_cases_of_math_have_their_verdict(
    reference: str, answer: str, is_equal: bool, is_right: bool
) -> None:
    require_library()
    assert (normalise(reference) == normalise(answer)) is is_equal
    assert (is_equal or are_equivalent(reference, answer)) is is_right


@each_case(
    ("text", "form"),
    [
        ("x=5", "5"),
        ("abc=5", "abc=5"),
        ("a=b=5", "a=b=5"),
        ("0.5", r"\frac{1}{2}"),
        ("-3/4", r"\frac{-3}{4}"),
        ("03/4", "03/4"),
        ("3/4/5", "3/4/5"),
        (r"90^\circ", "90"),
        (r"90^{\circ}", "90"),
        (r"\frac{1}{2}", r"\frac{1}{2}"),
        (r"\frac1b", r"\frac{1}{b}"),
        (r"\frac", r"\frac"),
        (r"\sqrt", r"\sqrt"),
        ("", ""),
    ],
)
def test_an_answer_has_the_normal_form_of_math(text: str, form: str) -> None:
    assert normalise(text) == form


@each_case(
    ("text", "answer"),
    [
        # hendrycks/math, `last_boxed_only_string` and `remove_boxed`
        (r"so $\boxed{42}$.", "42"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{1} and then \boxed{2}", "2"),
        (r"It is \boxed{7}. I wrote it with \boxed as you asked.", "7"),
        (r"The answer is \boxed{7}. To check, 12 - 5 = \boxed{1", "7"),
        (r"Put it in \boxed now: \boxed{7}", "7"),
        (r"$\boxed{7}$ where $\fbox{n}$ is a box", "7"),
        (r"\boxed{\boxed{3}}", "3"),
        (r"\fbox{7}", "7"),
        (r"so $\boxed 5$ it is 6", "5"),
        (r"\boxed{\text{(A)}}", r"\text{(A)}"),
        (r"\boxed{\left\{1,2\right\}}", r"\left\{1,2\right\}"),
        # openai/grade-school-math, `extract_answer`: the first mark, without commas
        ("6 * 7 = 42\n#### 42", "42"),
        ("#### 1,234,567", "1234567"),
        ("#### -3.50", "-3.50"),
        ("#### 18\n\nQuestion: next\n#### 3", "18"),
        # A box counts before the mark of GSM8K; neither published checker knows the other's mark.
        (r"#### 18, so \boxed{19}", "19"),
        # A box that is not closed is none, as after a response that was cut off.
        (r"#### 18, so \boxed{19", "18"),
        (r"\boxed{}", ""),
        # A box that is blank, or has no brackets, is a mention of the command.
        (r"It is \boxed{7}. I put it in \boxed{}.", "7"),
        (r"7, in \boxed as you asked", ""),
        (r"\boxed 5", "5"),
        (r"\boxed{\left\{1, 2\right.}", r"\left\{1, 2\right."),
        ("#### 3/4", "3/4"),
        ("#### 2 3/4 cups", "2 3/4"),
        ("####18", ""),
        ("#### about 18", ""),
        ("42", ""),
        ("", ""),
    ],
)
def test_a_marked_answer_is_read_as_published(text: str, answer: str) -> None:
    assert marked_answer(text) == answer


@each_case(
    ("text", "answer"),
    [
        ("It is 42.", "42"),
        ("first 41, then 42", "42"),
        ("It costs $1,234.50!", "1234.50"),
        ("about 3,5", "3,5"),
        ("3, 5, and 1,2,3", "1,2,3"),
        ("the temperature is -5 degrees", "-5"),
        ("5-3", "3"),
        ("x = .5", ".5"),
        ("(2)-(3)", "3"),
        ("#### $18", "18"),
        (r"\boxed{7} is not 8", "7"),
        ("version 1.2.3", "3"),
        ("It is 3/4.", "3/4"),
        ("It is 2 3/4 cups.", "2 3/4"),
        (r"It is $2\frac{3}{4}$.", r"2\frac{3}{4}"),
        (r"It is $\tfrac34$.", r"\tfrac34"),
        (r"It is $10,\!080$.", "10080"),
        ("so 9/3 = 3", "3"),
        ("on 12/05/2020", "2020"),
        ("no number", ""),
        ("", ""),
    ],
)
def test_the_last_number_counts_without_a_mark(text: str, answer: str) -> None:
    assert final_answer(text) == answer


# A reference, an answer in the box, and whether it is right.
FORMS = [
    ("11/4", "2 3/4", True),
    ("23/4", "2 3/4", False),
    ("11/4", r"2\frac34", True),
    ("11/4", r"2 \tfrac{3}{4}", True),
    ("23/4", r"2\frac{3}{4}", False),
    (r"2\frac{3}{4}", "2.75", True),
    ("-11/4", "-2 3/4", True),
    ("10080", r"10,\!080", True),
    (r"10,\!080", "10,080", True),
    (r"\$32,\!348", "32348", True),
    ("32348", r"\$32{,}348.00", True),
    ("12000", "12 000", True),
    ("12", "1 2", False),
    ("5", r"5\text{ cm}", True),
    ("5", r"5\,\mathrm{cm}^2.", True),
    (r"5\text{ cm}^2", "5", True),
    ("12", r"12 \text{ dollars}", True),
    ("12", "12 dollars", True),
    ("90", r"90^{\circ}", True),
    ("90", "90°", True),
    ("90", r"90\text{ degrees}", True),
    ("50", r"50\%", True),
    ("0.5", r"50\%", True),
    ("7", "7.", True),
    ("7", r"7\text{ or }8", False),
    ("8", r"7\text{ or }8", False),
    ("7", r"7 \text{ and } 8", False),
    ("7", r"7\text{ is wrong, it is 8}", False),
    ("7", r"7\text{ or more}", False),
    ("7", "7 million", False),
    ("7", r"7\pi", False),
    ("2", "2 pi", False),
    ("100", "100_8", False),
    ("100_8", "100_{8}", True),
    ("100_8", "100_9", False),
    ("10", "2=10", False),
    ("10", "x = 10", True),
    ("42", r"6 \cdot 7 = 42", True),
    ("0.0000002", "0.0000004", False),
    ("0", "0.0000001", False),
    (r"\frac{1}{3}", "0.333333", True),
    ("1000000", "1000001", False),
]


@each_case(("reference", "answer", "verdict"), FORMS)
def test_another_form_of_an_answer_is_right_and_another_answer_is_wrong(
    reference: str, answer: str, verdict: bool
) -> None:
    require_library()
    read = final_answer(rf"So it is $\boxed{{{answer}}}$, in \boxed{{}} as you asked. Check: \boxed{{1")
    assert read == answer
    assert (normalise(reference) == normalise(read) or are_equivalent(reference, read)) is verdict


@each_case(
    ("reference", "answer", "verdict"),
    [
        (r"\frac{11}{4}", r"2\tfrac{3}{4}", True),
        ("11/4", "2 3/4", True),
        ("23/4", "2 3/4", False),
        (r"\left(0, \frac{1}{2}\right]", r"(0,\tfrac12]", True),
        (r"10,\!080", "10080", True),
        ("7", r"7\text{ or }8", False),
        ("8", r"7\text{ or }8", False),
        (r"x^2 + 1", "x^2+1", True),
        (r"x^2 + 1", "x^2-1", False),
        ("east", r"\text{east}", True),
        ("30", r"30\%", False),  # As in the codebook; the task math follows hendrycks/math.
    ],
)
def test_imported_response_has_its_last_box_read_by_the_same_rule(reference: str, answer: str, verdict: bool) -> None:
    text = rf"First \boxed{{0}}. So $\boxed{{{answer}}}$. I wrote it with \boxed as you asked; \boxed{{1"
    assert is_right(text, reference, "How much is it?") is verdict


def test_shared_cases_have_their_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    if not SHARED.is_file():
        pytest.skip(f"there is no {SHARED}")
    runpy.run_path(str(SHARED))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 26
    assert [line for line in lines if "<<<" in line] == []


def test_final_answer_is_read_in_linear_time() -> None:
    for unit in UNITS:
        for read in (final_answer, normalise, lambda text: is_right(text, "5", "")):
            assert_linear(read, lambda length, unit=unit: unit * (length // len(unit)) + "x", 2_000)  # type: ignore[misc]


def test_box_at_the_end_of_a_long_response_is_read() -> None:
    for unit in (r"\boxed{", "{", "9", "1,", "#### ", "-", ".1", r"\boxed{} ", r"\boxed "):
        assert final_answer(unit * 100_000 + r" \boxed{7}") == "7"
