"""Final answers are read and normalised as the published checkers of GSM8K and MATH do."""

from __future__ import annotations

import time

from tests.cases import each_case
from workers.tasks.math_answer import final_answer, marked_answer, normalise
from workers.tasks.math_equivalence import are_equivalent, require_library

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
        ("the temperature is -5 degrees", "-5"),
        ("5-3", "3"),
        ("x = .5", ".5"),
        ("(2)-(3)", "3"),
        ("#### $18", "18"),
        (r"\boxed{7} is not 8", "7"),
        ("version 1.2.3", "3"),
        ("no number", ""),
        ("", ""),
    ],
)
def test_the_last_number_counts_without_a_mark(text: str, answer: str) -> None:
    assert final_answer(text) == answer


@each_case(
    "text",
    [r"\boxed{" * 140_000, "{" * 10**6, "9" * 10**6, "1," * 500_000, "#### " * 200_000, "-" * 10**6, ".1" * 500_000],
    ids=lambda text: text[:8],
)
def test_a_million_characters_are_read_quickly(text: str) -> None:
    began = time.thread_time()
    assert isinstance(final_answer(text), str)
    assert time.thread_time() - began < 5, "the processor time grows with the square of the length"
