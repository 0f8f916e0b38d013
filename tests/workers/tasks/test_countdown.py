"""The reward of Countdown: format, answer, and what does not earn either."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest

from tests.cases import each_case
from tests.processor_time import assert_linear
from workers.config import CountdownOptions
from workers.corpus import countdown as corpus
from workers.tasks.countdown import Countdown, answer_reward, format_reward
from workers.tasks.problem_file import Problem

FOUR = Problem("Use 7, 5 and 2 to make 4.", (7, 5, 2), Fraction(4), "4")


@pytest.fixture(scope="module")
def task() -> Countdown:
    return Countdown(CountdownOptions())


def reward(answer: str, numbers: Sequence[int] = (7, 5, 2), target: str = "4") -> float:
    return answer_reward(f"<answer>{answer}</answer>", Problem("", tuple(numbers), Fraction(target), target))


@each_case(
    ("completion", "earned"),
    [
        ("<think>so</think>\n<answer>1</answer>", 1.0),
        ("so</think>\n<answer>1</answer>", 1.0),
        ("so</think>\n<answer>1</answer>\n", 1.0),
        ("</think>\n<answer></answer>", 1.0),
        ("one\ntwo</think>\n<answer>1\n2</answer>", 1.0),
        ("a</think>b</think>\n<answer>1</answer>", 1.0),
        ("so</think>\n<answer>1</answer> <answer>2</answer>", 1.0),
        ("so</think>\n<answer>1</answer>.", 0.6),
        ("so</think>\n<answer>1</answer>\n\n", 0.6),
        ("so</think> <answer>1</answer>", 0.6),
        ("so</think>\n\n<answer>1</answer>", 0.6),
        ("so</think>\n<answer>1", 0.1),
        ("so <answer>1</answer>", 0.5),
        ("</answer>1<answer>", 0.0),
        ("7 - 5 + 2", 0.0),
        ("", 0.0),
    ],
)
def test_the_format_is_earned_whole_or_in_parts(completion: str, earned: float) -> None:
    assert format_reward(completion) == pytest.approx(earned)


@each_case("answer", ["7 - 5 + 2", " 2 + 7 - 5 ", "(7-5)+2", "2 - -7 - 5", "7 + (2 - 5)", "(7 - 5) * 2", "-5 + 7 + 2"])
def test_every_way_to_the_target_is_right(answer: str) -> None:
    assert reward(answer) == 1


@each_case(
    ("answer", "reason"),
    [
        ("7 - 5 - 2", "comes to another number"),
        ("2 + 2", "uses a number twice and leaves others out"),
        ("7 - 5 + 2 + 0", "uses a number that is not given"),
        ("5 - 7 / 7", "repeats a number"),
        ("4", "is the target itself"),
        ("7 - 5 + 2 = 4", "is an equation"),
        ("7 - 5 + 2\n", "holds a line's end"),
        ("07 - 5 + 2", "writes a number as no arithmetic does"),
        ("7 - 5 + ２", "writes a digit of another kind"),
        ("7 // 5 + 2 * 2", "rounds"),
        ("(7 - 5) ** 2", "takes a power"),
        ("2 ** (7 - 5)", "takes a power that comes to the target"),
        ("7 / (5 - 5) + 2", "divides by zero"),
        ("", "is empty"),
    ],
)
def test_wrong_expression_earns_nothing(answer: str, reason: str) -> None:
    assert reward(answer) == 0, reason


@pytest.mark.parametrize(
    ("answer", "numbers", "target"),
    [
        ("(69 - (55 + 25))", (69, 55, 25), "-11"),
        ("((45 - 69) * (68 + 42))", (45, 69, 68, 42), "-2640"),
        ("((10 / (60 - 57)) * 80)", (60, 10, 57, 80), "266.6666666666667"),
        ("(90 / (60 - 76))", (60, 76, 90), "-5.625"),
        ("1 / 3 + 1 / 3 + 1 / 3", (1, 1, 1, 3, 3, 3), "1"),
    ],
)
def test_targets_may_be_negative_and_fractions(answer: str, numbers: tuple[int, ...], target: str) -> None:
    assert reward(answer, numbers, target) == 1


def test_a_target_is_met_within_a_hundred_thousandth() -> None:
    assert reward("1 / 3", (1, 3), "0.33334") == 1
    assert reward("1 / 3", (1, 3), "0.33335") == 0


def test_the_last_answer_counts() -> None:
    assert answer_reward("<answer>7</answer> no: <answer>7 - 5 + 2</answer>", FOUR) == 1
    assert answer_reward("<answer>7 - 5 + 2</answer> no: <answer>7</answer>", FOUR) == 0
    assert answer_reward("<answer>7 - 5 + 2</answer> <answer>7", FOUR) == 1
    assert answer_reward("<answer>so <answer>7 - 5 + 2</answer>", FOUR) == 0


def test_the_reward_is_a_tenth_of_the_format_plus_the_answer(task: Countdown) -> None:
    example, problem = task.examples("train")[0], corpus.TRAIN[0]
    whole = task.score(example, f"<think>so</think>\n<answer>{problem.solution}</answer>")
    assert whole.reward == pytest.approx(1.1)
    assert whole.parts == {"right": 1, "format": 1, "answer": 1, "contains": 1, "exact": 1}
    bare = task.score(example, f"<answer>{problem.solution}</answer>")
    assert bare.reward == pytest.approx(1.05)
    assert bare.parts == {"right": 1, "format": 0.5, "answer": 1, "contains": 1, "exact": 0}
    assert task.score(example, "<think>I do not know").reward == 0


def test_the_prompt_has_no_part_in_the_reward(task: Countdown) -> None:
    assert task.score(task.examples("train")[0], "").reward == 0


def test_generated_problems_are_enough_solvable_and_never_trained_on(task: Countdown) -> None:
    train, held_out = task.examples("train"), task.examples("eval")
    assert (len(train), len(held_out)) == (512, 128)
    assert len({e.id for e in (*train, *held_out)}) == 640
    for example, problem in zip((*train, *held_out), (*corpus.TRAIN, *corpus.EVAL), strict=True):
        assert task.score(example, f"so</think>\n<answer>{problem.solution}</answer>").reward == pytest.approx(1.1)


def test_ids_are_the_same_in_every_run(task: Countdown) -> None:
    assert [e.id for e in task.examples("eval")[:2]] == ["cc301262bcad", "7a585efeba68"]


@each_case(
    ("before", "unit", "after"),
    [
        ("", "<think>", ""),
        ("", "</think>\n<answer>", ""),
        ("", "<answer>", ""),
        ("", "</answer>", ""),
        ("", "<answer></answer>", ""),
        ("<answer>", "(", "</answer>"),
        ("<answer>", "-", "1</answer>"),
        ("<answer>", "9", "</answer>"),
        ("<answer>7 - 5 + 2", " ", "</answer>"),
        ("", "a\u0300\u0316", ""),
    ],
)
def test_answer_is_scored_in_linear_time(task: Countdown, before: str, unit: str, after: str) -> None:
    def make(length: int) -> str:
        return before + unit * (length // len(unit)) + after

    example = task.examples("train")[0]
    assert task.score(example, make(100_000)).reward < 0.1
    assert_linear(lambda completion: task.score(example, completion), make, 100_000)
