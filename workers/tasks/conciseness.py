"""Conciseness: answer as briefly as the reference, as in "Evolution Strategies at Scale" (arXiv 2509.24372, §4).

    "What is the capital of France?"  reference "Paris"
    "It is Paris."                    R = -|12 - 5| = -7
    "Paris"                           R = 0
    ""                                R = -5: shorter pays, whether it is right or not

The reward looks at lengths only, on purpose: the part `right` measures separately whether the answers stay right, and
a run that raises the reward while it falls has hacked it. `contains` and `exact` compare texts: the response holds the
reference as a word, or equals it.
"""

from __future__ import annotations

from collections.abc import Sequence

from workers.analysis.right import RIGHT_PART, is_equal, is_right, mentions
from workers.config import ConcisenessOptions
from workers.corpus import EVAL_FACTS, TRAIN_FACTS, Fact
from workers.tasks.base import Example, Score, Split, example_id
from workers.tasks.choice_facts import wrong_answers
from workers.tasks.fact_kinds import kind_of
from workers.tasks.question_file import Question, read_questions


class Conciseness:
    """The task, with its questions read. Raise BadQuestions if a file of the user's cannot be used."""

    name = "conciseness"

    def __init__(self, options: ConcisenessOptions) -> None:
        train = read_questions(options.train_file) if options.train_file else _generated(TRAIN_FACTS)
        held_out = read_questions(options.eval_file) if options.eval_file else _generated(EVAL_FACTS)
        self._examples = {
            "train": [_example(q, options.system_prompt) for q in train],
            "eval": [_example(q, options.system_prompt) for q in held_out],
        }
        self._wrong = {_id(question): question.wrong for question in (*train, *held_out)}

    def examples(self, split: Split) -> Sequence[Example]:
        """Return all examples of a split, in the order of their file."""
        return self._examples[split]

    def score(self, example: Example, completion: str) -> Score:
        """R = -| len(y) - len(s) |, in characters, of completion y and reference s, outer white space aside."""
        answer, reference = completion.strip(), example.target.strip()
        question = example.messages[-1]["content"]
        parts = {
            RIGHT_PART: float(bool(is_right(answer, reference, question))),
            "exact": float(is_equal(answer, reference)),
            "contains": float(mentions(answer, reference)),
            "empty": float(not answer),
            "characters": float(len(answer)),
        }
        return Score(float(-abs(len(answer) - len(reference))), parts)

    def wrong_answers(self, example: Example) -> Sequence[str]:
        """Return wrong answers of the question's file, or for a generated fact, answers to others of its kind."""
        return self._wrong[example.id]


def _generated(facts: Sequence[Fact]) -> Sequence[Question]:
    return [Question(fact.question, fact.answer, (kind_of(fact),), tuple(wrong_answers(fact))) for fact in facts]


def _example(question: Question, system_prompt: str) -> Example:
    system = ({"role": "system", "content": system_prompt},) if system_prompt else ()
    messages = (*system, {"role": "user", "content": question.question})
    return Example(_id(question), messages, question.answer, question.categories)


def _id(question: Question) -> str:
    return example_id(question.question, question.answer)
