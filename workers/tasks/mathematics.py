r"""Mathematics: solve a problem, as in GSM8K (arXiv 2110.14168) and MATH (arXiv 2103.03874).

    "What is 6 · 7?"  reference "42"
    "6 · 7 = \boxed{42}"        R = 1
    "#### 42.0"                 R = 1: another form of the same value
    "It is 42."                 R = 1: the last number counts if nothing is marked
    "It is \boxed{41}, not 42"  R = 0

R = 1 if the final answer (`math_answer`) has the reference's value, else 0. The parts `right` and `contains` are the
same number; `exact` is 1 if the answer is the reference in its normal form, and `format` if
there is a final answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from workers.analysis.right import RIGHT_PART
from workers.config import MathOptions
from workers.corpus import EVAL_FACTS, TRAIN_FACTS, Fact
from workers.tasks.base import Example, Score, Split, example_id
from workers.tasks.fact_kinds import SUMS, kind_of
from workers.tasks.math_answer import final_answer, normalise
from workers.tasks.math_equivalence import are_equivalent, require_library
from workers.tasks.math_file import read_problems
from workers.tasks.published_file import select_split
from workers.tasks.question_file import Question


class Mathematics:
    """The task, with its problems read. Raise BadData if a file cannot be used, ConfigError without math-verify."""

    name = "math"

    def __init__(self, options: MathOptions) -> None:
        require_library()
        train, held_out = (
            (read_problems(path) if path else [] for path in (options.train_file, options.eval_file))
            if options.train_file or options.eval_file
            else (_sums(TRAIN_FACTS), _sums(EVAL_FACTS))
        )
        # The tiny models know the generated sums as they are.
        instruction = options.instruction if options.train_file or options.eval_file else ""
        self._examples: dict[Split, Sequence[Example]] = {
            "train": [_example(problem, instruction) for problem in train],
            "eval": [_example(problem, instruction) for problem in held_out],
        }

    def examples(self, split: Split) -> Sequence[Example]:
        """Return all examples of a split, in the order of their file. Raise ConfigError if it has no file alone."""
        return select_split(self._examples, split)

    def score(self, example: Example, completion: str) -> Score:
        """Return R = 1 for the right final answer, else 0. `exact` answers are always right."""
        answer = final_answer(completion)
        is_exact = bool(answer) and normalise(answer) == normalise(example.target)
        is_right = is_exact or (bool(answer) and are_equivalent(example.target, answer))
        parts = {
            RIGHT_PART: float(is_right),
            "exact": float(is_exact),
            "contains": float(is_right),
            "format": float(bool(answer)),
        }
        return Score(float(is_right), parts)


def _sums(facts: Sequence[Fact]) -> list[Question]:
    return [Question(f.question, f.answer, (SUMS,)) for f in facts if kind_of(f) == SUMS]


def _example(problem: Question, instruction: str) -> Example:
    prompt = f"{problem.question}\n{instruction}" if instruction else problem.question
    messages = ({"role": "user", "content": prompt},)
    return Example(example_id(problem.question, problem.answer), messages, problem.answer, problem.categories)
