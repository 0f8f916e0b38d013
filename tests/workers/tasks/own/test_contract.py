"""What a user's task may give; and the sentence where it gives something else, before any training."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.workers.tasks.own.files import GOOD, own, refusal, write
from workers.tasks import Score, score_safely
from workers.tasks.base import example_id
from workers.tasks.own import child
from workers.tasks.own.contract import Unfit, built, examples_of, score_of


def given(folder: Path, train: str, held_out: str = "[{'prompt': 'x'}]") -> None:
    """A task whose examples are these."""
    write(
        folder,
        f"class Task:\n"
        f"    def examples(self, split): return {train} if split == 'train' else {held_out}\n"
        f"    def score(self, example, completion): return 1",
    )


def test_score_gets_what_examples_gave_and_the_completion_alone(folder: Path) -> None:
    write(folder, GOOD)
    task = own()
    train, held_out = task.examples("train"), task.examples("eval")
    asked = [(train[2], "2"), (held_out[1], "long"), (train[0], "")]
    assert score_safely(task, asked) == [Score(-1, {"exact": 1}), Score(3, {"exact": 0}), Score(0, {"exact": 0})]
    task.close()


def test_examples_have_messages_an_id_of_their_content_and_categories(folder: Path) -> None:
    messages = "[{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'Why?'}]"
    given(folder, "[{'prompt': 'What?', 'target': 'That', 'category': 7}, "
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
    assert isinstance(built(attribute, {}, "my_task:Task"), Plain)


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


def test_options_arrive_as_they_stand_and_a_task_may_refuse_them(folder: Path) -> None:
    write(folder, "def Task(options):\n    raise LookupError(repr(options))")
    refused = refusal(words=["a", {"b": None}], n=1.5)
    assert refused.startswith("task.options.options: my_task:Task cannot be used: LookupError: {")
    assert "LookupError: {'words': ['a', {'b': None}], 'n': 1.5} (my_task.py, line 2, in Task)" in refused


class WithoutScore:
    """Half a task."""

    def examples(self, split: str) -> None: ...


class Rates:
    """No task at all."""

    def rate(self) -> None: ...


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        (3, "my_task:Task must be a class or a function, and is of type int"),
        (lambda a, b: None, "must take one argument, the options; it takes (a, b)"),
        (WithoutScore, "my_task:Task gives no score(example, completion)"),
        (lambda options: None, "my_task:Task gives no examples(split)"),
        (Rates, "Rates has rate"),
    ],
    ids=["a number", "of two arguments", "without score", "none", "without both"],
)
def test_what_is_no_task_is_refused(attribute: object, said: str) -> None:
    with pytest.raises(Unfit, match=re.escape(said)):
        built(attribute, {}, "my_task:Task")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys\nsys.exit(3)", "my_task:Task cannot be used: SystemExit: 3 (my_task.py, line 2, in <module>)"),
        ("import os\nos._exit(4)", "ended itself with exit code 4; did the task call os._exit?"),
        ("print('x' * 10_000_000)\nraise ValueError('y' * 10_000_000)", "ValueError: yyyy"),
    ],
)
def test_code_that_does_not_run_is_refused_with_the_line(folder: Path, code: str, said: str) -> None:
    write(folder, code)
    refused = refusal()
    assert said in refused
    assert len(refused) < 40_000


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import nosuch", "ModuleNotFoundError: No module named 'nosuch' (my_task.py, line 1, in <module>)"),
        ("def f(:", "SyntaxError"),
        ("class Task:\n    def examples(self, split): 1 / 0\n    def score(self, example, completion): ...",
         "ZeroDivisionError: division by zero (my_task.py, line 2, in examples)"),
    ],
    ids=["nothing to import", "no Python", "no examples"],
)  # fmt: skip
@pytest.mark.usefixtures("loads_here")
def test_what_the_users_code_raises_is_told_with_its_line(folder: Path, code: str, said: str) -> None:
    write(folder, code)
    answer, task, examples = child._loaded({"path": "my_task:Task", "folders": [str(folder)], "options": {}})
    assert answer["problem"].startswith("my_task:Task cannot be used: ") and said in answer["problem"]
    assert (answer["at"], task, examples) == ("path", None, {})


@pytest.mark.parametrize(
    ("examples", "said"),
    [
        (None, "examples('train') must give a sequence such as a list, not NoneType"),
        ((x for x in "ab"), "not generator"),
        ("ab", "not str"),
        ({"prompt": "x"}, "not dict"),
        ([], "must give 1 to 1000000 examples, not 0"),
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
def test_what_are_no_examples_is_refused_with_the_item(examples: object, said: str) -> None:
    with pytest.raises(Unfit, match=re.escape(said)):
        examples_of(examples, "train")


def test_the_held_out_examples_are_looked_at_too(folder: Path) -> None:
    given(folder, "[{'prompt': 'x'}]", "[]")
    assert refusal() == "task.options.path: examples('eval') must give 1 to 1000000 examples, not 0"


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
    found = score_of(value)
    assert found == score
    assert {type(number) for number in (found.reward, *found.parts.values())} == {float}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "the reward must be a number, not None"),
        ("good", "the reward must be a number, not 'good'"),
        (float("nan"), "the reward must be finite, not nan"),
        ({}, "score gave an object without reward; its keys are none"),
        ({"reward": 1, "length": None}, "the part length must be a number, not None"),
        ({"reward": 1, "a b": 1}, "letters, digits, _ . or -, and 'a b' has not"),
        ({"reward": 1} | {str(n): 1 for n in range(40)}, "score gave 40 parts; at most 32 are kept"),
    ],
    ids=["none", "text", "nan", "no reward", "no part", "a wrong name", "many parts"],
)
def test_what_is_no_score_is_refused(value: object, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        score_of(value)


def test_a_trial_score_that_fails_is_refused(folder: Path) -> None:
    given(folder, "[{'prompt': 'x'}]")
    write(folder, (folder / "my_task.py").read_text().replace("return 1", "return 1 / len(completion)"))
    refused = refusal()
    assert refused.startswith("task.options.path: my_task:Task was tried: score of its first example and an empty")
    assert "ZeroDivisionError" in refused
