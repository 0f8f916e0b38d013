"""Files of GSM8K, MATH and MATH-500 are read unchanged; other lines are refused with their number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each_case
from workers.tasks.base import BadData
from workers.tasks.math_file import read_problems

GSM8K = {"question": "Natalia sold 48 and 24 clips. How many?", "answer": "48+24 = <<48+24=72>>72 clips.\n#### 72"}
MATH = {
    "problem": "What is half of 1?",
    "solution": r"Half of 1 is $\boxed{\frac{1}{2}}$.",
    "level": "Level 1",
    "type": "Prealgebra",
}
MATH_500 = {
    "problem": "Convert $(0,3)$.",
    "solution": r"It is $\boxed{9}$.",
    "answer": r"\left( 3, \frac{\pi}{2} \right)",
    "subject": "Precalculus",
    "level": 2,
    "unique_id": "test/precalculus/807.json",
}


def write_lines(tmp_path: Path, *rows: Any) -> str:
    path = tmp_path / "problems.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return str(path)


def test_published_forms_are_read_in_their_order(tmp_path: Path) -> None:
    problems = read_problems(write_lines(tmp_path, GSM8K, "", MATH, MATH_500, ""))
    assert [p.answer for p in problems] == ["72", r"\frac{1}{2}", r"\left( 3, \frac{\pi}{2} \right)"]
    assert [p.question for p in problems] == [GSM8K["question"], MATH["problem"], MATH_500["problem"]]
    assert [p.categories for p in problems] == [(), ("Level 1", "Prealgebra"), ("Level 2", "Precalculus")]


@each_case(
    ("row", "answer"),
    [
        ({"question": "Q", "answer": "so\n#### 1,234"}, "1234"),
        ({"question": "Q", "answer": 42}, "42"),
        ({"problem": "Q", "answer": " 3.5 "}, "3.5"),
        ({"problem": "Q", "solution": r"$\boxed 5$"}, "5"),
        ({"problem": "Q", "solution": r"\boxed{1} or \fbox{2}"}, "1"),
        ({"problem": "Q", "solution": "#### 7"}, "7"),
        ({"question": "Q", "answer": r"It is $\boxed{x^2}$."}, "x^2"),
    ],
)
def test_the_reference_is_the_marked_answer_or_the_answer_alone(tmp_path: Path, row: Any, answer: str) -> None:
    assert [p.answer for p in read_problems(write_lines(tmp_path, row))] == [answer]


def test_categories_and_source_become_categories(tmp_path: Path) -> None:
    row = GSM8K | {"category": ["sums", "shops"], "source": "GSM8K", "type": "two\nlines", "level": True}
    assert read_problems(write_lines(tmp_path, row))[0].categories == ("shops", "source: GSM8K", "sums")


def test_a_repeated_problem_is_read_once_with_the_categories_of_all_lines(tmp_path: Path) -> None:
    problems = read_problems(write_lines(tmp_path, MATH, GSM8K, MATH | {"type": "Algebra"}))
    assert [p.question for p in problems] == [MATH["problem"], GSM8K["question"]]
    assert problems[0].categories == ("Algebra", "Level 1", "Prealgebra")


@each_case(
    ("row", "message"),
    [
        ("question: What?", "not JSON"),
        ('["What?"]', "must be an object"),
        ("[" * 100_000, "nested at most 50 deep"),
        ('{"question": "Q", "answer": ' + "9" * 5000 + "}", "not JSON"),
        ({"answer": "42"}, "question must be text that is not blank, but is missing"),
        ({"question": ["Q"], "answer": "42"}, "question must be text that is not blank, but is ['Q']"),
        ({"question": "x" * 100_001, "answer": "42"}, "question may have at most 100000 characters, not 100001"),
        ({"question": "Q"}, "answer must be text that is not blank, but is missing"),
        ({"question": "Q", "answer": True}, "answer must be text that is not blank, but is True"),
        ({"question": "Q", "answer": "so\n#### none"}, "answer must be a final answer alone, or text with a number"),
        ({"question": "Q", "answer": "first\nthen"}, "answer must be a final answer alone"),
        ({"question": "Q", "answer": "x" * 1001}, "answer must be a final answer alone"),
        ({"question": "Q", "answer": "$"}, "the final answer must not be blank, but is '$'"),
        (
            {"problem": "Q", "solution": "It is 42."},
            r"solution must have its final answer within \boxed{} or after ####",
        ),
        (GSM8K | {"answer": "#### 73"}, "repeats the question of line 1 with another answer"),
    ],
    ids=range(15),
)
def test_a_bad_line_is_refused_with_its_number_and_the_known_forms(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(BadData) as refused:
        read_problems(write_lines(tmp_path, GSM8K, "", row))
    assert "problems.jsonl, line 3:" in str(refused.value)
    assert message in str(refused.value)
    assert '#### 42"}' in str(refused.value) and r"$\\boxed{42}$" in str(refused.value)


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "contains no questions; a line is"), (b"\xff\xfe\x00", "cannot be read")]
)
def test_a_file_without_problems_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.jsonl").write_bytes(content)
    with pytest.raises(BadData, match=message):
        read_problems(str(tmp_path / "x.jsonl"))


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    assert len(read_problems(write_lines(tmp_path, "\ufeff" + json.dumps(GSM8K)))) == 1


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadData, match=r"nowhere\.jsonl cannot be read: .*No such file"):
        read_problems(str(tmp_path / "nowhere.jsonl"))
