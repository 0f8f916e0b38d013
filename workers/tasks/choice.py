"""Multiple choice: name the letter of the right option, as in MMLU (arXiv 2009.03300) and ARC (arXiv 1803.05457).

    "What is 6 · 7?\\nA. 13\\nB. 42"    reference "B"
    "B"                               R = 1
    "The answer is (B)."              R = 1
    "B or A? A."                      R = 0
    "A or B"                          R = 0: several letters are none

R = 1 if the letter that the response commits to (`workers.analysis.right.letter_answer`) is the right one, else 0. The
parts `right` and `contains` are the same number; `exact` is 1 if the response is the right letter and nothing else, and
`format` if it names a letter at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from workers.analysis.right import RIGHT_PART, is_equal
from workers.config import ChoiceOptions
from workers.corpus import EVAL_FACTS, TRAIN_FACTS
from workers.tasks.base import Example, Score, Split, example_id
from workers.tasks.choice_facts import make_choices
from workers.tasks.choice_file import ChoiceQuestion, read_choices
from workers.tasks.choice_letter import read_letter
from workers.tasks.published_file import select_split


class Choice:
    """The task, with its questions read. Raise BadData if a file of the user's cannot be used."""

    name = "choice"

    def __init__(self, options: ChoiceOptions) -> None:
        train, held_out = (
            (read_choices(path) if path else [] for path in (options.train_file, options.eval_file))
            if options.train_file or options.eval_file
            else (make_choices(TRAIN_FACTS), make_choices(EVAL_FACTS))
        )
        self._examples: dict[Split, Sequence[Example]] = {
            "train": [_example(question, options.instruction) for question in train],
            "eval": [_example(question, options.instruction) for question in held_out],
        }
        self._letters = {_id(question): question.letters for question in (*train, *held_out)}

    def examples(self, split: Split) -> Sequence[Example]:
        """Return all examples of a split, in the order of their file. Raise ConfigError if it has no file alone."""
        return select_split(self._examples, split)

    def score(self, example: Example, completion: str) -> Score:
        """Return R = 1 for the right letter, else 0."""
        letter = read_letter(completion, self._letters[example.id])
        is_right = float(letter == example.target)
        parts = {
            RIGHT_PART: is_right,
            "exact": float(is_equal(completion, example.target)),
            "contains": is_right,
            "format": float(bool(letter)),
        }
        return Score(is_right, parts)

    def wrong_answers(self, example: Example) -> Sequence[str]:
        """Return the letters of the wrong options."""
        return [letter for letter in self._letters[example.id] if letter != example.target]


def _example(question: ChoiceQuestion, instruction: str) -> Example:
    prompt = f"{question.question}\n{instruction}" if instruction else question.question
    return Example(_id(question), ({"role": "user", "content": prompt},), question.answer, question.categories)


def _id(question: ChoiceQuestion) -> str:
    return example_id(question.question, question.answer)
