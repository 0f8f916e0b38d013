"""Countdown: reach a target from given numbers with + - * /, each number exactly once, as in "Evolution Strategies at
Scale" (arXiv 2509.24372, §4) and TinyZero before it.

    "Use 7, 5 and 2 to make 4."
    "<think>7 - 5 + 2 = 4</think>\\n<answer>7 - 5 + 2</answer>"      R = 0.1 · 1 + 1 = 1.1
    "<answer>7 - 5 + 2</answer>"                                     R = 0.1 · 0.5 + 1 = 1.05
    "<think>7 + 5 + 2 = 4</think>\\n<answer>7 + 5 + 2</answer>"      R = 0.1 · 1 + 0 = 0.1

R = 0.1 · format + answer. `format` is 1 for a thought, a line's end and an answer, with nothing before or after them;
else 0.1 for a thought and 0.5 for an answer anywhere. `<think>` is put before the answer first, because the published
prompt ends with it. `answer` is 1 where the last <answer> holds an expression that uses every number exactly once and
comes within 0.00001 of the target.

Unlike the published code, the completion alone is scored: its prompt shows the tags and would earn a part of the format
by itself. The expression is evaluated exactly and without `eval`: `**` and `//` are not arithmetic, and targets may be
negative or fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from workers.analysis.right import RIGHT_PART
from workers.config import CountdownOptions
from workers.corpus import countdown as corpus
from workers.tasks.arithmetic import NotArithmetic, numbers_in, value_of
from workers.tasks.base import Example, Score, Split, example_id
from workers.tasks.countdown_solutions import canonical, solutions
from workers.tasks.problem_file import Problem, read_split

TOLERANCE = Fraction(1, 100_000)
"""The published tolerance: the file writes a third as 0.333…."""
FORMAT_WEIGHT = 0.1
THINK, THOUGHT, ANSWER, ANSWERED = "<think>", "</think>", "<answer>", "</answer>"


class Countdown:
    """The task, with its problems read. Raise BadProblems if a file of the user's cannot be used."""

    name = "countdown"

    def __init__(self, options: CountdownOptions) -> None:
        train, held_out = read_split(options)
        problems = {"train": train or _generated(corpus.TRAIN), "eval": held_out or _generated(corpus.EVAL)}
        self._examples = {split: [_example(p) for p in of_split] for split, of_split in problems.items()}
        self._problems = {_id(p): p for of_split in problems.values() for p in of_split}

    def examples(self, split: Split) -> Sequence[Example]:
        """Return all examples of a split, in the order of their file."""
        return self._examples[split]

    def score(self, example: Example, completion: str) -> Score:
        """Return R = 0.1 · format + answer, at most 1.1, in time linear in the completion's length."""
        form = format_reward(completion)
        answer = answer_reward(completion, self._problems[example.id])
        is_exact = float(form == answer == 1)
        parts = {RIGHT_PART: answer, "format": form, "answer": answer, "contains": answer, "exact": is_exact}
        return Score(FORMAT_WEIGHT * form + answer, parts)

    def solution(self, example: Example, completion: str) -> str | None:
        """Return the canonical form of a correct response's expression; None for any other response."""
        if not answer_reward(completion, self._problems[example.id]):
            return None
        return canonical(_last_answer(completion) or "")

    def solutions(self, example: Example) -> frozenset[str] | None:
        """Return the canonical forms of all solutions; None if the problem has too many numbers to list them."""
        problem = self._problems[example.id]
        return solutions(problem.numbers, problem.target)

    def right_response(self, example: Example) -> str | None:
        """Return a right response in the whole format; None if the problem has too many numbers to solve it here."""
        listed = self.solutions(example)
        if not listed:
            return None
        solution = min(listed)
        return f"{solution} = {example.target}{THOUGHT}\n{ANSWER}{solution}{ANSWERED}"


def format_reward(completion: str) -> float:
    """Return 1 for the whole format; else 0.1 for a thought plus 0.5 for an answer."""
    text = THINK + completion
    if _is_whole(text):
        return 1.0
    return 0.1 * (_between(text, THINK, THOUGHT) is not None) + 0.5 * (_between(text, ANSWER, ANSWERED) is not None)


def answer_reward(completion: str, problem: Problem) -> float:
    """Return 1 if the last answer uses every number exactly once and equals the target, else 0."""
    expression = _last_answer(completion)
    try:
        if expression is None or sorted(numbers_in(expression)) != sorted(problem.numbers):
            return 0.0
        return float(abs(value_of(expression) - problem.target) < TOLERANCE)
    except NotArithmetic:
        return 0.0


def _is_whole(text: str) -> bool:
    r"""Match `^<think>.*?</think>\n<answer>.*?</answer>$` over lines, but in linear time for any text."""
    text = text.removesuffix("\n")
    turn = text.find(f"{THOUGHT}\n{ANSWER}", len(THINK))
    begun = turn + len(f"{THOUGHT}\n{ANSWER}")
    return text.startswith(THINK) and turn >= 0 and text.endswith(ANSWERED) and begun <= len(text) - len(ANSWERED)


def _between(text: str, start: str, end: str, at: int = 0) -> tuple[int, int] | None:
    """Return the first span from `at` on that `start` and `end` enclose."""
    begun = text.find(start, at)
    ended = text.find(end, begun + len(start)) if begun >= 0 else -1
    return (begun + len(start), ended) if ended >= 0 else None


def _last_answer(text: str) -> str | None:
    last_span, at = None, 0
    while span := _between(text, ANSWER, ANSWERED, at):
        last_span, at = span, span[1] + len(ANSWERED)
    return text[slice(*last_span)] if last_span else None


def _generated(problems: Sequence[corpus.Problem]) -> list[Problem]:
    return [Problem(p.prompt, p.numbers, Fraction(p.target), str(p.target)) for p in problems]


def _example(problem: Problem) -> Example:
    return Example(_id(problem), ({"role": "user", "content": problem.prompt},), problem.written, problem.categories)


def _id(problem: Problem) -> str:
    return example_id(problem.prompt, *map(str, problem.numbers), problem.written)
