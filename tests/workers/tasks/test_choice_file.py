"""Files of MMLU, ARC and HellaSwag are read unchanged; other lines are refused with their number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each_case
from workers.tasks.base import BadData
from workers.tasks.choice_file import read_choices

MMLU = {
    "question": "What is 6 · 7?",
    "choices": ["13", "42", "67", "1"],
    "answer": 1,
    "subject": "elementary_mathematics",
}
CHOICES = [{"text": "heat", "label": "A"}, {"text": "light", "label": "B"}, {"text": "sound", "label": "C"}]
ARC = {"id": "Mercury_7", "question": {"stem": "What warms?", "choices": CHOICES}, "answerKey": "A"}
FLAT = {
    "id": "MCAS_1",
    "question": "What shines?",
    "choices": {"text": ["heat", "light"], "label": ["1", "2"]},
    "answerKey": "2",
}
HELLASWAG = {
    "ind": 4,
    "activity_label": "Removing ice",
    "ctx": "He scrapes",
    "endings": ["a car.", "ice.", "soup."],
    "label": "1",
}


def write_lines(tmp_path: Path, *rows: Any) -> str:
    path = tmp_path / "choices.jsonl"
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return str(path)


def test_published_forms_are_read_in_their_order(tmp_path: Path) -> None:
    questions = read_choices(write_lines(tmp_path, MMLU, "", ARC, FLAT, HELLASWAG, ""))
    assert [q.question for q in questions] == [
        "What is 6 · 7?\nA. 13\nB. 42\nC. 67\nD. 1",
        "What warms?\nA. heat\nB. light\nC. sound",
        "What shines?\nA. heat\nB. light",
        "He scrapes\nA. a car.\nB. ice.\nC. soup.",
    ]
    assert [q.answer for q in questions] == ["B", "A", "B", "B"]
    assert [q.letters for q in questions] == ["ABCD", "ABC", "AB", "ABC"]
    assert [q.categories for q in questions] == [("elementary_mathematics",), (), (), ("Removing ice",)]


@pytest.mark.parametrize(("answer", "letter"), [(0, "A"), (3, "D"), ("0", "A"), ("3", "D"), ("A", "A"), ("D", "D")])
def test_an_answer_is_a_position_from_zero_or_a_letter(tmp_path: Path, answer: Any, letter: str) -> None:
    assert read_choices(write_lines(tmp_path, MMLU | {"answer": answer}))[0].answer == letter


def test_options_may_be_numbers(tmp_path: Path) -> None:
    question = read_choices(write_lines(tmp_path, MMLU | {"choices": [1, 2.5]}))[0]
    assert question.question == "What is 6 · 7?\nA. 1\nB. 2.5"


def test_category_and_source_become_categories(tmp_path: Path) -> None:
    row = ARC | {"category": "physics", "source": "ARC-Easy"}
    assert read_choices(write_lines(tmp_path, row))[0].categories == ("physics", "source: ARC-Easy")


def test_a_repeated_question_is_read_once_and_other_options_make_another(tmp_path: Path) -> None:
    other = MMLU | {"choices": ["13", "42"]}
    questions = read_choices(write_lines(tmp_path, MMLU, other, MMLU | {"subject": "arithmetic"}))
    assert [q.letters for q in questions] == ["ABCD", "AB"]
    assert questions[0].categories == ("arithmetic", "elementary_mathematics")


@each_case(
    ("row", "message"),
    [
        ("question: What?", "not JSON"),
        ("[1]", "must be an object"),
        ("[" * 100_000, "nested at most 50 deep"),
        ({"choices": ["a", "b"], "answer": 0}, "question must be text that is not blank, but is missing"),
        ({"question": "Q", "answer": 0}, "choices must be a list of 2 to 26 options, but is missing"),
        ({"question": "Q", "choices": ["a"], "answer": 0}, "choices must be a list of 2 to 26 options, but is ['a']"),
        ({"question": "Q", "choices": ["a"] * 27, "answer": 0}, "choices must be a list of 2 to 26 options"),
        ({"question": "Q", "choices": ["a", " "], "answer": 0}, "option 2 must be text that is not blank, but is ' '"),
        (MMLU | {"answer": 4}, "answer must be a position from 0 to 3 or a letter from A to D, but is 4"),
        (MMLU | {"answer": -1}, "answer must be a position from 0 to 3"),
        (MMLU | {"answer": True}, "but is True"),
        (MMLU | {"answer": "E"}, "but is 'E'"),
        (MMLU | {"answer": "²"}, "but is '²'"),
        (MMLU | {"answer": None}, "answer must be a position from 0 to 3 or a letter from A to D, but is missing"),
        (HELLASWAG | {"label": ""}, "label must be a position from 0 to 2 or a letter from A to C, but is ''"),
        (HELLASWAG | {"endings": "a car."}, "endings must be a list of 2 to 26 options, but is 'a car.'"),
        (ARC | {"answerKey": "D"}, "answerKey must be one of the labels A, B, C, but is 'D'"),
        (ARC | {"question": {"stem": "Q", "choices": ["a"]}}, "choices must be a list of objects with text and label"),
        (ARC | {"question": {"choices": CHOICES}}, "stem must be text that is not blank, but is missing"),
        (FLAT | {"choices": {"text": ["a", "b"], "label": ["A", "A"]}}, "choices must have a label of its own"),
        (FLAT | {"choices": {"text": ["a", "b"]}}, "choices.label must be a list of 2 to 26 options, but is missing"),
        (MMLU | {"answer": 2}, "repeats the question of line 1 with another answer"),
    ],
    ids=range(22),
)  # fmt: skip
def test_a_bad_line_is_refused_with_its_number_and_the_known_forms(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(BadData) as refused:
        read_choices(write_lines(tmp_path, MMLU, "", row))
    assert "choices.jsonl, line 3:" in str(refused.value)
    assert message in str(refused.value)
    assert '"answer": 1}' in str(refused.value) and '"label": 1}' in str(refused.value)


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file_is_refused_with_the_known_forms(tmp_path: Path, content: str) -> None:
    with pytest.raises(BadData, match=r'contains no questions; a line is \{"question"'):
        read_choices(write_lines(tmp_path, content))


def test_flat_choices_may_be_a_list_of_objects(tmp_path: Path) -> None:
    row = {"question": "What warms?", "choices": CHOICES, "answerKey": "C"}
    assert [q.answer for q in read_choices(write_lines(tmp_path, row))] == ["C"]
