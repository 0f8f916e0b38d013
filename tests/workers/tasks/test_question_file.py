"""A user's own questions: read unchanged, and refused with the line and the keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases import each_case
from workers.config import ConcisenessOptions
from workers.tasks.conciseness import Conciseness
from workers.tasks.question_file import BadQuestions, read_questions

GOOD = '{"question": "What is the capital of France?", "answer": "Paris"}'
# The paper's own questions, if they are in the checkout or next to it.
FOLDERS = [parent / "shared" / "data" / "conciseness" for parent in Path(__file__).parents[3:5]]
PUBLISHED = next((folder for folder in FOLDERS if folder.is_dir()), None)


def write_questions(tmp_path: Path, *lines: str) -> str:
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def test_a_file_gives_the_examples_in_its_order(tmp_path: Path) -> None:
    path = write_questions(tmp_path, GOOD, "", '{"answer": "84", "question": "Calculate: 12 × 7 ="}', "")
    examples = Conciseness(ConcisenessOptions(train_file=path)).examples("train")
    assert [e.target for e in examples] == ["Paris", "84"]
    assert examples[1].messages == ({"role": "user", "content": "Calculate: 12 × 7 ="},)


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path) -> None:
    assert len(read_questions(write_questions(tmp_path, "\ufeff" + GOOD))) == 1


def test_an_id_is_the_same_in_another_file(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    a, b = (
        write_questions(tmp_path, GOOD),
        write_questions(tmp_path / "b", '{"question": "Why?", "answer": "So"}', GOOD),
    )
    task = Conciseness(ConcisenessOptions(train_file=a, eval_file=b))
    assert task.examples("train")[0].id == task.examples("eval")[1].id


@each_case(
    ("line", "message"),
    [
        ("question: What?", "not JSON"),
        ('["What?", "That"]', "must be an object with the keys question, answer"),
        (
            '{"question": "What?", "anser": "That"}',
            "'anser' is not a known key; the keys are question, answer, category",
        ),
        ('{"question": "What?"}', "answer must be text that is not blank, but is missing"),
        ('{"question": "What is 3 + 5?", "answer": 8}', "answer must be text that is not blank, but is 8"),
        ('{"question": "What?", "answer": "  "}', "answer must be text that is not blank, but is '  '"),
        (GOOD, "repeats line 1"),
        (f'{GOOD[:-1]}, "category": "again"}}', "repeats line 1"),
        (
            '{"question": "Q?", "answer": "A", "category": 7}',
            "category must be a text of 1 to 100 characters",
        ),
    ],
)
def test_a_bad_line_is_refused_with_its_number(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(BadQuestions) as refused:
        read_questions(write_questions(tmp_path, GOOD, "", line))
    assert "line 3" in str(refused.value)
    assert message in str(refused.value)


def test_wrong_answers_are_read_and_compared(tmp_path: Path) -> None:
    line = '{"question": "Capital of France?", "answer": "Paris", "wrong": ["Rome", "Berlin"]}'
    path = write_questions(tmp_path, line, '{"question": "Capital of Italy?", "answer": "Rome"}')
    task = Conciseness(ConcisenessOptions(train_file=path))
    assert [task.wrong_answers(example) for example in task.examples("train")] == [("Rome", "Berlin"), ()]


@each_case("wrong", ["Rome", ["Rome", 3], ["Rome", " "], ["Rome", "Rome"], [" paris"], list("abcdefghijklmnopqrstu")])
def test_invalid_wrong_answers_are_refused(tmp_path: Path, wrong: object) -> None:
    row = {"question": "Capital of France?", "answer": "Paris", "wrong": wrong}
    path = write_questions(tmp_path, json.dumps(row))
    with pytest.raises(BadQuestions, match="line 1: wrong must"):
        read_questions(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadQuestions, match=r"nowhere\.jsonl cannot be read: .*No such file"):
        Conciseness(ConcisenessOptions(eval_file=str(tmp_path / "nowhere.jsonl")))


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadQuestions, match="cannot be read"):
        read_questions(str(tmp_path / "binary"))


def test_an_empty_file_is_refused_with_an_example_of_a_line(tmp_path: Path) -> None:
    with pytest.raises(BadQuestions, match=r'contains no questions; a line is \{"question"'):
        read_questions(write_questions(tmp_path, "", " "))


@pytest.mark.skipif(PUBLISHED is None, reason="the published questions are not on this machine")
def test_the_published_questions_are_read() -> None:
    assert PUBLISHED is not None
    options = ConcisenessOptions(str(PUBLISHED / "train.jsonl"), str(PUBLISHED / "eval.jsonl"))
    task = Conciseness(options)
    held_out = task.examples("eval")
    assert (len(task.examples("train")), len(held_out)) == (2, 8)
    # The known score of a model that has learnt to say nothing (-2.875 on these eight).
    assert sum(task.score(e, "").reward for e in held_out) / len(held_out) == -2.875


def test_question_may_have_category_and_source(tmp_path: Path) -> None:
    line = '{"question": "Who?", "answer": "I", "category": ["people", "art"], "source": "quiz"}'
    task = Conciseness(ConcisenessOptions(train_file=write_questions(tmp_path, line, GOOD)))
    assert [e.categories for e in task.examples("train")] == [("art", "people", "source: quiz"), ()]


def test_generated_questions_have_categories() -> None:
    task = Conciseness(ConcisenessOptions())
    kinds = {e.messages[-1]["content"].split(" ")[0]: e.categories for e in task.examples("eval")}
    assert kinds["How"] == ("counts",)
    by_kind = {e.categories for split in ("train", "eval") for e in task.examples(split)}
    assert len(by_kind) == 8
    assert all(e.target.isdigit() for e in task.examples("eval") if e.categories == ("sums",))
