"""The reward of mathematics, its parts, and its examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cases import each_case
from workers.config import ConfigError, MathOptions, TaskConfig
from workers.tasks import make
from workers.tasks.base import Example
from workers.tasks.mathematics import Mathematics

ROW = {"question": "What is 6 · 7?", "answer": "#### 42"}


@pytest.fixture(scope="module")
def task() -> Mathematics:
    return Mathematics(MathOptions())


def example(target: str) -> Example:
    return Example("x", ({"role": "user", "content": "Q"},), target)


# openai/grade-school-math, `extract_answer` and `is_correct`: the reference, a response, and the published verdict.
# Ours is more lenient where they differ, because values are compared and an answer needs no mark.
GSM8K = [
    ("42", "so\n#### 42", True, True),
    ("42", "#### 42 apples", True, True),
    ("1234", "#### 1,234", True, True),
    ("-3", "#### -3", True, True),
    ("42", "#### 43", False, False),
    ("42", "#### 42\n#### 43", True, True),
    ("42", "#### 42.0", False, True),
    ("42", "#### 42.", False, True),
    ("42", "The answer is 42", False, True),
    ("42", "#### $42", False, True),
    ("42", r"\boxed{42}", False, True),
    ("42", "", False, False),
]


@each_case(("target", "response", "published", "ours"), GSM8K)
def test_responses_to_gsm8k_have_their_verdict(
    task: Mathematics, target: str, response: str, published: bool, ours: bool
) -> None:
    score = task.score(example(target), response)
    assert score.reward == score.parts["contains"] == float(ours)
    assert ours or not published, "ours must never be stricter"


@each_case(
    ("response", "reward", "parts"),
    [
        (r"It is \boxed{\frac{1}{2}}.", 1, (1, 1, 1)),
        (r"It is \boxed{1/2}.", 1, (1, 1, 1)),
        (r"It is \boxed{\frac{2}{4}}.", 1, (0, 1, 1)),
        ("0.50", 1, (0, 1, 1)),
        (r"\boxed{2}", 0, (0, 0, 1)),
        (r"\boxed{0.5} \boxed{2}", 0, (0, 0, 1)),
        ("I do not know.", 0, (0, 0, 0)),
        ("", 0, (0, 0, 0)),
        (r"\boxed{9^{9^{9^9}}}", 0, (0, 0, 1)),
    ],
)
def test_parts_are_exact_contains_and_format(
    task: Mathematics, response: str, reward: float, parts: tuple[float, float, float]
) -> None:
    score = task.score(example(r"\frac{1}{2}"), response)
    assert score.reward == reward
    assert score.parts == {"right": reward} | dict(zip(("exact", "contains", "format"), parts, strict=True))


def test_an_answer_that_is_not_compared_by_value_may_still_be_the_reference(task: Mathematics) -> None:
    assert task.score(example(r"\binom{9}{4}"), r"\boxed{\binom{9}{4}}").parts["exact"] == 1
    assert task.score(example(r"\binom{9}{4}"), r"\boxed{126}").reward == 0


def test_generated_sums_are_right_and_never_trained_on(task: Mathematics) -> None:
    train, held_out = task.examples("train"), task.examples("eval")
    assert (len(train), len(held_out)) == (18, 6)
    assert len({e.id for e in (*train, *held_out)}) == 24
    assert {e.categories for e in (*train, *held_out)} == {("sums",)}
    assert held_out[0].messages == ({"role": "user", "content": "What is 9 + 9?"},)
    assert all(task.score(e, f"It is {e.target}.").reward == 1 for e in (*train, *held_out))


def test_the_instruction_follows_the_problem_and_leaves_the_id_alone(tmp_path: Path) -> None:
    path = tmp_path / "problems.jsonl"
    path.write_text(json.dumps(ROW))
    usual = Mathematics(MathOptions(str(path))).examples("train")[0]
    bare = Mathematics(MathOptions(str(path), instruction="")).examples("train")[0]
    text = "What is 6 · 7?\nPlease reason step by step, and put your final answer within \\boxed{}."
    assert usual.messages == ({"role": "user", "content": text},)
    assert bare.messages == ({"role": "user", "content": "What is 6 · 7?"},)
    assert usual.id == bare.id


def test_a_split_without_a_file_is_a_problem_of_the_config_when_it_is_used(tmp_path: Path) -> None:
    path = tmp_path / "problems.jsonl"
    path.write_text(json.dumps(ROW))
    evaluated = make(TaskConfig("math", MathOptions(eval_file=str(path))))
    assert [e.target for e in evaluated.examples("eval")] == ["42"]
    with pytest.raises(ConfigError, match=r"task\.options\.train_file: must name a file to train on: only eval_file"):
        evaluated.examples("train")
    with pytest.raises(
        ConfigError, match=r"task\.options\.eval_file: must name a file to evaluate on: only train_file"
    ):
        make(TaskConfig("math", MathOptions(train_file=str(path)))).examples("eval")


def test_a_bad_file_is_a_problem_of_the_config(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"question": "Q"}')
    with pytest.raises(ConfigError, match=r"task\.options.*x\.jsonl, line 1: answer must be text"):
        make(TaskConfig("math", MathOptions(train_file=str(tmp_path / "x.jsonl"))))
