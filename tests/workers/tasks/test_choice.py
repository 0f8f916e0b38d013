"""The reward of multiple choice, its parts, and its examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases import each_case
from workers.config import ChoiceOptions, ConfigError, TaskConfig
from workers.corpus import EVAL_FACTS, TRAIN_FACTS
from workers.tasks import make
from workers.tasks.choice import Choice

ROW = {"question": "What is 6 · 7?", "choices": ["13", "42", "67"], "answer": 1}


@pytest.fixture(scope="module")
def task() -> Choice:
    return Choice(ChoiceOptions())


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "choices.jsonl"
    file.write_text(json.dumps(ROW))
    return str(file)


@each_case(
    ("response", "reward", "parts"),
    [
        ("B", 1, (1, 1, 1)),
        (" B\n", 1, (1, 1, 1)),
        ("(B)", 1, (0, 1, 1)),
        ("The answer is (B).", 1, (0, 1, 1)),
        ("B. 42", 1, (0, 1, 1)),
        ("A", 0, (0, 0, 1)),
        ("A B C", 0, (0, 0, 0)),
        ("D", 0, (0, 0, 0)),
        ("42", 0, (0, 0, 0)),
        ("", 0, (0, 0, 0)),
    ],
)
def test_the_reward_is_one_for_the_right_letter(
    path: str, response: str, reward: float, parts: tuple[float, float, float]
) -> None:
    task = Choice(ChoiceOptions(train_file=path))
    score = task.score(task.examples("train")[0], response)
    assert score.reward == reward
    assert score.parts == {"right": reward} | dict(zip(("exact", "contains", "format"), parts, strict=True))


def test_the_prompt_is_the_question_its_options_and_the_instruction(path: str) -> None:
    usual = Choice(ChoiceOptions(path)).examples("train")[0]
    bare = Choice(ChoiceOptions(path, instruction="")).examples("train")[0]
    options = "What is 6 · 7?\nA. 13\nB. 42\nC. 67"
    assert usual.messages == ({"role": "user", "content": f"{options}\nAnswer with the letter of the correct option."},)
    assert bare.messages == ({"role": "user", "content": options},)
    assert (usual.id, usual.target) == (bare.id, "B")


def test_generated_questions_have_four_options_and_their_answer(task: Choice) -> None:
    for split, facts in (("train", TRAIN_FACTS), ("eval", EVAL_FACTS)):
        for example, fact in zip(task.examples(split), facts, strict=True):  # type: ignore[arg-type]
            question, *options, _ = example.messages[0]["content"].split("\n")
            assert question == fact.question
            assert [option[:3] for option in options] == ["A. ", "B. ", "C. ", "D. "]
            assert len(set(options)) == 4
            assert [o[3:] for o in options if o[0] == example.target] == [fact.answer]


def test_generated_letters_are_spread_and_never_trained_on(task: Choice) -> None:
    train, held_out = task.examples("train"), task.examples("eval")
    assert len({e.id for e in (*train, *held_out)}) == len(train) + len(held_out)
    assert len(held_out) >= 32
    counts = [sum(e.target == letter for e in train) for letter in "ABCD"]
    assert min(counts) > len(train) / 8
    assert len({e.categories for e in train}) == 8


def test_ids_are_the_same_in_every_run(task: Choice) -> None:
    assert [e.id for e in task.examples("eval")[:2]] == ["24269d02b485", "8d881fe2c0a7"]


def test_a_split_without_a_file_is_a_problem_of_the_config_when_it_is_used(path: str) -> None:
    evaluated = make(TaskConfig("choice", ChoiceOptions(eval_file=path)))
    assert [e.target for e in evaluated.examples("eval")] == ["B"]
    with pytest.raises(ConfigError, match=r"task\.options\.train_file: must name a file to train on: only eval_file"):
        evaluated.examples("train")


def test_a_bad_file_is_a_problem_of_the_config(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"question": "Q"}')
    with pytest.raises(ConfigError, match=r"task\.options.*x\.jsonl, line 1: choices must be a list"):
        make(TaskConfig("choice", ChoiceOptions(train_file=str(tmp_path / "x.jsonl"))))
