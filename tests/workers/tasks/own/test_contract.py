"""What a user's task may give; and the sentence where it gives something else, before any training."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workers.tasks.own.files import GOOD, own, refusal, write
from workers.tasks import Score, score_safely
from workers.tasks.base import example_id


def given(folder: Path, train: str, held_out: str = "[{'prompt': 'x'}]") -> None:
    """A task whose examples are these."""
    write(
        folder,
        f"class Task:\n"
        f"    def examples(self, split): return {train} if split == 'train' else {held_out}\n"
        f"    def score(self, example, completion): return 1",
    )


def scoring(folder: Path, value: str, before: str = "") -> None:
    """A task whose score is this."""
    write(
        folder,
        f"{before}\nclass Task:\n"
        f"    def examples(self, split): return [{{'prompt': 'What?', 'target': 'That'}}]\n"
        f"    def score(self, example, completion): return {value}",
    )


def test_score_gets_what_examples_gave_and_the_completion_alone(folder: Path) -> None:
    write(folder, GOOD)
    task = own()
    train, held_out = task.examples("train"), task.examples("eval")
    asked = [(train[2], "2"), (held_out[1], "long"), (train[0], "")]
    assert score_safely(task, asked) == [Score(-1, {"exact": 1}), Score(3, {"exact": 0}), Score(0, {"exact": 0})]
    task.close()


def test_a_prompt_is_a_users_message_and_an_id_comes_from_the_content(folder: Path) -> None:
    given(folder, "[{'prompt': 'What?', 'target': 'That'}, {'messages': [{'role': 'system', 'content': 'Be brief.'}, "
          "{'role': 'user', 'content': 'Why?'}], 'id': 'why'}]")  # fmt: skip
    task = own()
    first, second = task.examples("train")
    assert first.messages == ({"role": "user", "content": "What?"},)
    assert (first.id, first.target) == (example_id("What?", "That"), "That")
    assert (second.id, second.target, len(second.messages)) == ("why", "", 2)
    task.close()


PLAIN = """
class Plain:
    def examples(self, split): return [{"prompt": "x"}]
    def score(self, example, completion): return 1
"""
TYPED = """
from workers.tasks import Example, Score
class Task:
    def examples(self, split): return (Example("a", ({"role": "user", "content": "x"},), ""),)
    def score(self, example, completion): return Score(1.0)
"""


@pytest.mark.parametrize(
    "code",
    [
        PLAIN + "Task = Plain()",
        PLAIN + "def Task(options): return Plain()",
        PLAIN + "def Task(): return Plain()",
        PLAIN + "class Task(Plain):\n    def __init__(self, options): self.words = options.get('words', [])",
        TYPED,
    ],
    ids=["an object", "a function of the options", "a function of nothing", "a class of the options", "our own types"],
)
def test_a_task_may_be_made_in_several_ways(folder: Path, code: str) -> None:
    write(folder, code)
    own().close()


def test_options_arrive_as_they_stand(folder: Path) -> None:
    scoring(folder, "0")
    write(folder, "def Task(options):\n    raise LookupError(repr(options))")
    assert "LookupError: {'words': ['a', {'b': None}], 'n': 1.5}" in refusal(words=["a", {"b": None}], n=1.5)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("Task = 3", "my_task:Task must be a class or a function, and is of type int"),
        ("class Task:\n    def __init__(self, a, b): ...", "must take one argument, the options; it takes (a, b)"),
        ("class Task:\n    def examples(self, split): ...", "my_task:Task gives no score(example, completion)"),
        ("def Task(options): return None", "my_task:Task gives no examples(split)"),
        ("class Task:\n    def __init__(self): ...\n    def rate(self): ...", "Task has rate"),
    ],
)
def test_what_is_no_task_is_refused(folder: Path, code: str, said: str) -> None:
    write(folder, code)
    assert said in refusal()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys\nsys.exit(3)", "my_task:Task cannot be used: SystemExit: 3 (my_task.py, line 2, in <module>)"),
        ("import nosuch", "ModuleNotFoundError: No module named 'nosuch' (my_task.py, line 1"),
        ("def f(:", "SyntaxError"),
        ("import os\nos._exit(4)", "ended itself with exit code 4; did the task call os._exit?"),
        ("import os\nos.abort()", "was ended by SIGABRT"),
        ("def Task(options):\n    return options['words']", "KeyError: 'words' (my_task.py, line 2, in Task)"),
        ("print('x' * 10_000_000)\nraise ValueError('y' * 10_000_000)", "ValueError: yyyy"),
    ],
)
def test_code_that_does_not_run_is_refused_with_the_line(folder: Path, code: str, said: str) -> None:
    write(folder, code)
    refused = refusal()
    assert said in refused
    assert len(refused) < 40_000


def test_a_task_that_refuses_its_options_is_a_problem_of_the_options(folder: Path) -> None:
    write(folder, "class Task:\n    def __init__(self, options): raise ValueError('words is missing')")
    assert refusal().startswith("task.options.options: my_task:Task cannot be used: ValueError: words is missing")


@pytest.mark.parametrize(
    ("examples", "said"),
    [
        ("None", "examples('train') must give a sequence such as a list, not NoneType"),
        ("(x for x in 'ab')", "not generator"),
        ("'ab'", "not str"),
        ("{'prompt': 'x'}", "not dict"),
        ("[]", "must give 1 to 1000000 examples, not 0"),
        ("range(10**9)", "examples, not 1000000000"),
        ("['x']", 'examples(\'train\'), item 0 must be {"prompt": "…"} or'),
        ("[{'prompt': 'a'}, {'question': 'b'}]", "item 1 must have either prompt or messages"),
        ("[{'prompt': 'a', 'messages': []}]", "either prompt or messages"),
        ("[{'prompt': 3}]", "item 0: prompt must be text, not int"),
        ("[{'messages': []}]", "item 0: messages must be a list with at least one message"),
        ("[{'messages': [{'role': 'user'}]}]", "a message must be {'role': text, 'content': text}"),
        ("[{'prompt': 'a', 'target': 8}]", "item 0: target must be text, not int"),
        ("[{'prompt': 'a', 'id': ''}]", "item 0: id must be text of 1 to 100 characters, not ''"),
        ("[{'prompt': 'a', 'id': 'x'}, {'prompt': 'b', 'id': 'x'}]", "item 1 has the id 'x' of item 0"),
        ("[{'prompt': 'a'}, {'prompt': 'a'}]", "of item 0"),
        ("1 / 0", "ZeroDivisionError: division by zero (my_task.py, line 2, in examples)"),
    ],
)
def test_what_are_no_examples_is_refused_with_the_item(folder: Path, examples: str, said: str) -> None:
    given(folder, examples)
    assert said in refusal()


def test_the_held_out_examples_are_looked_at_too(folder: Path) -> None:
    given(folder, "[{'prompt': 'x'}]", "[]")
    assert "examples('eval') must give 1 to 1000000 examples, not 0" in refusal()


@pytest.mark.parametrize(
    "value",
    ["1", "0.5", "True", "numpy.float32(0.5)", "numpy.array([0.5])", "{'reward': numpy.int64(1), 'right': False}"],
)
def test_every_kind_of_number_is_a_reward(folder: Path, value: str) -> None:
    scoring(folder, value, "import numpy")
    own().close()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("None", "the reward must be a number, not None"),
        ("'good'", "the reward must be a number, not 'good'"),
        ("float('nan')", "the reward must be finite, not nan"),
        ("{}", "score gave an object without reward; its keys are none"),
        ("{'reward': 1, 'length': None}", "the part length must be a number, not None"),
        ("{'reward': 1, 'a b': 1}", "letters, digits, _ . or -, and 'a b' has not"),
        ("{'reward': 1} | {str(n): 1 for n in range(40)}", "score gave 40 parts; at most 32 are kept"),
        ("1 / len(completion)", "ZeroDivisionError"),
        ("[0] * 2**62", "MemoryError"),
    ],
)
def test_a_trial_score_that_is_none_is_refused(folder: Path, value: str, said: str) -> None:
    scoring(folder, value)
    refused = refusal()
    assert refused.startswith("task.options.path: my_task:Task was tried: score of its first example and an empty")
    assert said in refused


def test_an_example_may_say_what_it_is_about(folder: Path) -> None:
    given(folder, "[{'prompt': 'x', 'category': ['b', 'a']}, {'prompt': 'y', 'category': 7}]")
    assert [e.categories for e in own().examples("train")] == [("a", "b"), ()]
