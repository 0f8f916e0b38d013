"""The contract of a user's task, and the message for each violation before any training."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cases import each_case
from tests.workers.tasks.own.files import GOOD, own, refusal, write
from workers.tasks import Score, score_safely
from workers.tasks.base import example_id
from workers.tasks.own import child
from workers.tasks.own.contract import InvalidTask, build_task, parse_examples, parse_score


def write_task(folder: Path, train: str, held_out: str = "[{'prompt': 'x'}]") -> None:
    """Write a task with these examples."""
    write(
        folder,
        f"class Task:\n"
        f"    def examples(self, split): return {train} if split == 'train' else {held_out}\n"
        f"    def score(self, example, completion): return 1",
    )


def test_score_gets_example_and_completion(folder: Path) -> None:
    write(folder, GOOD)
    task = own()
    train, held_out = task.examples("train"), task.examples("eval")
    pairs = [(train[2], "2"), (held_out[1], "long"), (train[0], "")]
    assert score_safely(task, pairs) == [Score(-1, {"exact": 1}), Score(3, {"exact": 0}), Score(0, {"exact": 0})]
    task.close()


def test_examples_have_messages_ids_and_categories(folder: Path) -> None:
    messages = "[{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'Why?'}]"
    write_task(folder, "[{'prompt': 'What?', 'target': 'That', 'category': 7}, "
          f"{{'messages': {messages}, 'id': 'why', 'category': ['b', 'a']}}]")  # fmt: skip
    task = own()
    first, second = task.examples("train")
    assert first.messages == ({"role": "user", "content": "What?"},)
    assert (first.id, first.target) == (example_id("What?", "That"), "That")
    assert (second.id, second.target, len(second.messages)) == ("why", "", 2)
    assert (first.categories, second.categories) == ((), ("a", "b"))
    task.close()


class Plain:
    """A task that takes no options."""

    def examples(self, split: str) -> list[dict[str, str]]:
        return [{"prompt": split}]

    def score(self, example: object, completion: str) -> float:
        return 1.0


class OfOptions(Plain):
    """A task that takes options."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.words = options.get("words", [])


@pytest.mark.parametrize(
    "attribute",
    [Plain(), lambda options: Plain(), lambda: Plain(), OfOptions],
    ids=["an object", "a function of the options", "a function of nothing", "a class of the options"],
)
def test_a_task_may_be_made_in_several_ways(attribute: object) -> None:
    assert isinstance(build_task(attribute, {}, "my_task:Task"), Plain)


def test_a_task_may_use_our_own_types(folder: Path) -> None:
    write(
        folder,
        "from workers.tasks import Example, Score\nclass Task:\n"
        "    def examples(self, split): return (Example('a', ({'role': 'user', 'content': 'x'},), ''),)\n"
        "    def score(self, example, completion): return Score(1.0)",
    )
    task = own()
    assert task.score(task.examples("train")[0], "") == Score(1.0)
    task.close()


def test_task_gets_options_and_may_refuse_them(folder: Path) -> None:
    write(folder, "def Task(options):\n    raise LookupError(repr(options))")
    refused = refusal(words=["a", {"b": None}], n=1.5)
    assert refused.startswith("task.options.options: my_task:Task cannot be used: LookupError: {")
    assert "LookupError: {'words': ['a', {'b': None}], 'n': 1.5} (my_task.py, line 2, in Task)" in refused


class WithoutScore:
    """Half a task."""

    def examples(self, split: str) -> None: ...


class Rates:
    """A class that is no task."""

    def rate(self) -> None: ...


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        (3, "my_task:Task must be a class or a function, not int"),
        (lambda a, b: None, "must take one argument, the options, not (a, b)"),
        (WithoutScore, "my_task:Task gives no score(example, completion)"),
        (lambda options: None, "my_task:Task gives no examples(split)"),
        (Rates, "Rates has rate"),
    ],
    ids=["a number", "of two arguments", "without score", "none", "without both"],
)
def test_invalid_task_is_refused(attribute: object, message: str) -> None:
    with pytest.raises(InvalidTask, match=re.escape(message)):
        build_task(attribute, {}, "my_task:Task")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys\nsys.exit(3)", "my_task:Task cannot be used: SystemExit: 3 (my_task.py, line 2, in <module>)"),
        ("import os\nos._exit(4)", "exited with code 4; did the task call os._exit?"),
        ("print('x' * 10_000_000)\nraise ValueError('y' * 10_000_000)", "ValueError: yyyy"),
    ],
)
def test_failing_code_is_refused_with_line(folder: Path, code: str, message: str) -> None:
    write(folder, code)
    refused = refusal()
    assert message in refused
    assert len(refused) < 40_000


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nosuch", "ModuleNotFoundError: No module named 'nosuch' (my_task.py, line 1, in <module>)"),
        ("def f(:", "SyntaxError"),
        ("class Task:\n    def examples(self, split): 1 / 0\n    def score(self, example, completion): ...",
         "ZeroDivisionError: division by zero (my_task.py, line 2, in examples)"),
    ],
    ids=["nothing to import", "no Python", "no examples"],
)  # fmt: skip
@pytest.mark.usefixtures("loads_here")
def test_exception_of_task_is_reported_with_line(folder: Path, code: str, message: str) -> None:
    write(folder, code)
    answer, task, examples = child._load_task({"path": "my_task:Task", "folders": [str(folder)], "options": {}})
    assert answer["problem"].startswith("my_task:Task cannot be used: ") and message in answer["problem"]
    assert (answer["at"], task, examples) == ("path", None, {})


@each_case(
    ("examples", "message"),
    [
        (None, "examples('train') must return a sequence such as a list, not NoneType"),
        ((x for x in "ab"), "not generator"),
        ("ab", "not str"),
        ({"prompt": "x"}, "not dict"),
        ([], "must return 1 to 1000000 examples, not 0"),
        (range(10**9), "examples, not 1000000000"),
        (["x"], 'examples(\'train\'), item 0 must be {"prompt": "…"} or'),
        ([{"prompt": "a"}, {"question": "b"}], "item 1 must have either prompt or messages"),
        ([{"prompt": "a", "messages": []}], "either prompt or messages"),
        ([{"prompt": 3}], "item 0: prompt must be text, not int"),
        ([{"messages": []}], "item 0: messages must be a list with at least one message"),
        ([{"messages": [{"role": "user"}]}], "a message must be {'role': text, 'content': text}"),
        ([{"prompt": "a", "target": 8}], "item 0: target must be text, not int"),
        ([{"prompt": "a", "id": ""}], "item 0: id must be text of 1 to 100 characters, not ''"),
        ([{"prompt": "a", "id": "x"}, {"prompt": "b", "id": "x"}], "item 1 has the id 'x' of item 0"),
        ([{"prompt": "a"}, {"prompt": "a"}], "of item 0"),
    ],
)
def test_invalid_examples_are_refused_with_item(examples: object, message: str) -> None:
    with pytest.raises(InvalidTask, match=re.escape(message)):
        parse_examples(examples, "train")


def test_held_out_examples_are_checked(folder: Path) -> None:
    write_task(folder, "[{'prompt': 'x'}]", "[]")
    assert refusal() == "task.options.path: examples('eval') must return 1 to 1000000 examples, not 0"


@pytest.mark.parametrize(
    ("value", "score"),
    [
        (1, Score(1.0)),
        (0.5, Score(0.5)),
        (True, Score(1.0)),
        (np.float32(0.5), Score(0.5)),
        (np.array([0.5]), Score(0.5)),
        ({"reward": np.int64(1), "right": False}, Score(1.0, {"right": 0.0})),
    ],
    ids=["whole", "decimal", "true", "of numpy", "an array of one", "with a part"],
)
def test_every_kind_of_number_is_a_reward(value: object, score: Score) -> None:
    result = parse_score(value)
    assert result == score
    assert {type(number) for number in (result.reward, *result.parts.values())} == {float}


@each_case(
    ("value", "message"),
    [
        (None, "the reward must be a number, not None"),
        ("good", "the reward must be a number, not 'good'"),
        (float("nan"), "the reward must be finite, not nan"),
        ({}, "score returned an object without reward; its keys are none"),
        ({"reward": 1, "length": None}, "the part length must be a number, not None"),
        ({"reward": 1, "a b": 1}, "letters, digits, _ . or -, not 'a b'"),
        ({"reward": 1} | {str(n): 1 for n in range(40)}, "score returned 40 parts; at most 32 are allowed"),
    ],
    ids=["none", "text", "nan", "no reward", "no part", "a wrong name", "many parts"],
)
def test_invalid_score_is_refused(value: object, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        parse_score(value)


def test_a_trial_score_that_fails_is_refused(folder: Path) -> None:
    write_task(folder, "[{'prompt': 'x'}]")
    write(folder, (folder / "my_task.py").read_text().replace("return 1", "return 1 / len(completion)"))
    refused = refusal()
    assert refused.startswith("task.options.path: my_task:Task failed its test, score of its first example and an ")
    assert "ZeroDivisionError" in refused
