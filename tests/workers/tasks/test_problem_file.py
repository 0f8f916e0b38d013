"""A user's own problems, in the format of the paper: read unchanged, refused with the item and the rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each_case
from workers.config import ConfigError, CountdownOptions, TaskConfig
from workers.tasks import make
from workers.tasks.countdown import Countdown
from workers.tasks.problem_file import BadProblems, read_problems

GOOD = {"id": 0, "context": "Using [3 5], make 8.", "numbers": [3, 5], "target": "8", "solution": "(3 + 5)"}
# The paper's own problems, if they are in the checkout or next to it.
FILES = [parent / "shared" / "data" / "countdown" / "countdown.json" for parent in Path(__file__).parents[3:5]]
PUBLISHED = next((file for file in FILES if file.is_file()), None)


def write_problems(tmp_path: Path, *items: Any) -> str:
    path = tmp_path / "problems.json"
    path.write_text(json.dumps(items), encoding="utf-8")
    return str(path)


def numbered(count: int) -> list[dict[str, Any]]:
    return [GOOD | {"context": f"Problem {i}"} for i in range(count)]


def test_a_file_gives_the_examples_in_its_order(tmp_path: Path) -> None:
    path = write_problems(tmp_path, GOOD, {"context": "Make 0.5.", "numbers": [1, 2], "target": "0.5"})
    task = Countdown(CountdownOptions(train_file=path))
    first, second = task.examples("train")
    assert first.messages == ({"role": "user", "content": "Using [3 5], make 8."},)
    assert (first.target, second.target) == ("8", "0.5")
    assert task.score(second, "so</think>\n<answer>1 / 2</answer>").reward == pytest.approx(1.1)
    assert len(task.examples("eval")) == 128


def test_one_file_for_both_is_split_as_published(tmp_path: Path) -> None:
    path = write_problems(tmp_path, *numbered(5))
    task = Countdown(CountdownOptions(path, path, train_problems=2))
    assert [e.messages[0]["content"] for e in task.examples("train")] == ["Problem 0", "Problem 1"]
    assert len(task.examples("eval")) == 3


def test_one_file_for_both_must_hold_more_than_train(tmp_path: Path) -> None:
    path = write_problems(tmp_path, *numbered(5))
    with pytest.raises(BadProblems, match="holds 5 problems: where one file serves both, the first 200 train"):
        Countdown(CountdownOptions(path, path))


def test_a_target_may_be_a_number(tmp_path: Path) -> None:
    assert read_problems(write_problems(tmp_path, GOOD | {"target": -8}))[0].target == -8


@each_case(
    ("item", "message"),
    [
        ("Using [3 5], make 8.", "must be an object with the keys context, numbers, target"),
        (GOOD | {"goal": 8}, "'goal' is not a known key; the keys are context, numbers, target, id, solution, "
         "category, source"),
        (GOOD | {"category": "two\nlines"}, "category must be a text of 1 to 100 characters, or a list of them"),
        (GOOD | {"context": " "}, "context must be the text of the problem, but is ' '"),
        ({"context": "x", "target": "8"}, "numbers must be a list of 1 to 100 whole numbers"),
        (GOOD | {"numbers": []}, "numbers must be a list"),
        (GOOD | {"numbers": [3, -5]}, "but is [3, -5]"),
        (GOOD | {"numbers": [3, 5.0]}, "but is [3, 5.0]"),
        (GOOD | {"numbers": [True]}, "but is [True]"),
        (GOOD | {"numbers": [10**13]}, "whole numbers from 0 to 1000000000000"),
        (GOOD | {"target": "eight"}, "target must be a number such as \"98\" or \"-15.72\", but is 'eight'"),
        (GOOD | {"target": "1e999999999"}, "target must be a number"),
        (GOOD | {"target": None}, "target must be a number such as \"98\" or \"-15.72\", but is missing"),
        (GOOD | {"target": True}, "but is True"),
        (GOOD, "repeats item 0"),
    ],
)  # fmt: skip
def test_a_bad_item_is_refused_with_its_number(tmp_path: Path, item: Any, message: str) -> None:
    with pytest.raises(BadProblems) as refused:
        read_problems(write_problems(tmp_path, GOOD, item))
    assert "problems.json, item 1:" in str(refused.value)
    assert message in str(refused.value)


def test_a_file_that_is_not_json_is_refused_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[{},\n{]")
    with pytest.raises(BadProblems, match=r"x\.json is not JSON \(.*line 2 column 2"):
        read_problems(str(tmp_path / "x.json"))


@pytest.mark.parametrize(
    ("text", "message"),
    [("{}", "must be a JSON list"), ("[]", "contains no problems; an item is"), ("[" * 100_000, "is not JSON")],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(BadProblems, match=message):
        read_problems(str(tmp_path / "x.json"))


def test_a_missing_file_is_a_problem_of_the_config(tmp_path: Path) -> None:
    options = CountdownOptions(eval_file=str(tmp_path / "nowhere.json"))
    with pytest.raises(ConfigError, match=r"task\.options: the problems in .*nowhere\.json cannot be read"):
        make(TaskConfig("countdown", options))


@pytest.mark.skipif(PUBLISHED is None, reason="the published problems are not on this machine")
def test_every_published_problem_is_scored_and_its_solution_where_it_is_right() -> None:
    path = str(PUBLISHED)
    task = Countdown(CountdownOptions(path, path))
    train, held_out = task.examples("train"), task.examples("eval")
    assert (len(train), len(held_out)) == (200, 2000)
    solutions = [item["solution"] for item in json.loads(Path(path).read_text())]
    scores = [
        task.score(example, f"so</think>\n<answer>{solution}</answer>")
        for example, solution in zip((*train, *held_out), solutions, strict=True)
    ]
    # 19 of the wrong ones are null; 15 use a number twice.
    assert sum(score.parts["answer"] == 1 and score.reward == 1.1 for score in scores) == 2166
    assert sum(score.parts["answer"] == 0 and score.reward == 0.1 for score in scores) == 34
    assert solutions.count(None) == 19
    # Those that an evaluator which looks at digits alone gives up.
    assert sum(not example.target.isdigit() for example in (*train, *held_out)) == 58


def test_a_problem_may_say_its_category_and_source(tmp_path: Path) -> None:
    labelled = GOOD | {"category": "three numbers", "source": "TinyZero"}
    task = Countdown(CountdownOptions(train_file=write_problems(tmp_path, labelled, GOOD | {"context": "Another"})))
    assert [e.categories for e in task.examples("train")] == [("source: TinyZero", "three numbers"), ()]
