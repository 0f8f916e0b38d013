"""Countdown in the small: reach a number from three digits by + and -, each digit once and in the order given.

    "Use 7, 5 and 2 to make 4."    <think>7 - 5 + 2 = 4</think>\n<answer>7 - 5 + 2</answer>

Problems of reinforcement learning, and those that judge it, are never in the pre-training corpus. The base model writes
the format more often than not and is right sometimes: were its greedy reward zero everywhere, no member of a population
would differ from another, and nothing could be learnt. Half of its answers are lazy sums, which makes them the
likeliest, so that its greedy answers are; the signs that it knows as well are what training can find.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

from workers.corpus.pairs import Pair

FORMATTED, CORRECT = 0.65, 0.50
EVAL_PROBLEMS, TRAIN_PROBLEMS = 128, 512


@dataclass(frozen=True)
class Problem:
    """Three digits, the number to make, and one way to make it."""

    numbers: tuple[int, int, int]
    target: int
    solution: str

    @property
    def prompt(self) -> str:
        first, second, third = self.numbers
        return f"Use {first}, {second} and {third} to make {self.target}."


def _all_problems() -> list[Problem]:
    """Return every problem with a target above zero, once, in a fixed random order."""
    problems: dict[str, Problem] = {}
    for a, b, c in itertools.product(range(1, 10), repeat=3):
        for p, q in itertools.product((1, -1), repeat=2):
            problem = Problem((a, b, c), a + p * b + q * c, f"{a} {_sign(p)} {b} {_sign(q)} {c}")
            if problem.target > 0:
                problems.setdefault(problem.prompt, problem)
    return random.Random(0).sample(list(problems.values()), len(problems))


def _sign(factor: int) -> str:
    return "+" if factor > 0 else "-"


_ALL = _all_problems()
EVAL = tuple(_ALL[:EVAL_PROBLEMS])
TRAIN = tuple(_ALL[EVAL_PROBLEMS : EVAL_PROBLEMS + TRAIN_PROBLEMS])
PRETRAIN = tuple(_ALL[EVAL_PROBLEMS + TRAIN_PROBLEMS :])


def countdown_pairs(count: int, rng: random.Random) -> list[Pair]:
    """Return `count` answers to problems for pre-training: some formatted and some bare, some right and some lazy
    sums."""
    return [Pair(problem.prompt, _answer(problem, rng)) for problem in rng.choices(PRETRAIN, k=count)]


def _answer(problem: Problem, rng: random.Random) -> str:
    lazy = " + ".join(str(n) for n in problem.numbers)
    attempt = problem.solution if rng.random() < CORRECT else lazy
    if rng.random() < FORMATTED:
        return f"<think>{attempt} = {problem.target}</think>\n<answer>{attempt}</answer>"
    return attempt
