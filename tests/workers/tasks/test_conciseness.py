"""The reward of conciseness, its parts, and its examples."""

from __future__ import annotations

import pytest

from tests.cases import each_case
from workers.config import ConcisenessOptions
from workers.tasks.base import Example
from workers.tasks.conciseness import Conciseness

PARIS = Example("paris", ({"role": "user", "content": "What is the capital of France?"},), "Paris")


@pytest.fixture(scope="module")
def task() -> Conciseness:
    return Conciseness(ConcisenessOptions())


@each_case(
    ("answer", "reward"),
    [("Paris", 0), ("It is Paris.", -7), ("Rome!", 0), ("", -5), ("  \n Paris \n", 0), ("巴黎", -3), ("x" * 105, -100)],
)
def test_the_reward_is_the_difference_in_characters(task: Conciseness, answer: str, reward: float) -> None:
    assert task.score(PARIS, answer).reward == reward


def test_outer_white_space_of_the_reference_does_not_count(task: Conciseness) -> None:
    padded = Example("padded", PARIS.messages, " Paris\n")
    assert task.score(padded, "Paris").reward == 0
    assert task.score(padded, "Paris").parts["exact"] == 1


def test_the_prompt_has_no_part_in_the_reward(task: Conciseness) -> None:
    long_example = Example("long", ({"role": "user", "content": "Please! " * 100},), "Paris")
    assert task.score(long_example, "Paris") == task.score(PARIS, "Paris")


def test_parts_distinguish_right_from_short_answer(task: Conciseness) -> None:
    names = ("right", "exact", "contains", "empty", "characters")
    for response, parts in {
        "Paris": (1, 1, 1, 0, 5),
        "PARIS": (1, 1, 1, 0, 5),
        "It is paris.": (1, 0, 1, 0, 12),
        "It is not Paris.": (0, 0, 1, 0, 16),
        "Rome!": (0, 0, 0, 0, 5),
        " \n": (0, 0, 0, 1, 0),
    }.items():
        assert task.score(PARIS, response).parts == dict(zip(names, parts, strict=True)), response


def test_held_out_questions_are_enough_and_never_trained_on(task: Conciseness) -> None:
    train, held_out = task.examples("train"), task.examples("eval")
    assert len(held_out) >= 32
    assert not {e.id for e in train} & {e.id for e in held_out}
    assert len({e.id for e in (*train, *held_out)}) == len(train) + len(held_out)


def test_ids_are_the_same_in_every_run(task: Conciseness) -> None:
    assert [e.id for e in task.examples("eval")[:2]] == ["4cd5a8b9d6d8", "e0cc01331443"]


def test_a_system_prompt_comes_first_and_leaves_the_id_alone(task: Conciseness) -> None:
    instructed = Conciseness(ConcisenessOptions(system_prompt="Be brief.")).examples("eval")[0]
    plain = task.examples("eval")[0]
    assert instructed.messages == ({"role": "system", "content": "Be brief."}, *plain.messages)
    assert instructed.id == plain.id
