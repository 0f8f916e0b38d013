"""Read problems from JSONL as GSM8K, MATH and MATH-500 are published.

    GSM8K       question, answer                                 the answer ends with #### and a number
    MATH        problem, solution, level, type                   the solution has its answer within \\boxed{}
    MATH-500    problem, solution, answer, subject, level        the answer alone; it counts and not the solution

`question` and `problem` are the same, and any line may have a category and a source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workers.tasks.math_answer import marked_answer, normalise
from workers.tasks.published_file import BadRow, read_published, text_of, topics_of
from workers.tasks.question_file import Question

FORMS = (
    '{"question": "What is 6 · 7?", "answer": "It is 42. #### 42"}',
    r'{"problem": "What is 6 · 7?", "solution": "It is $\\boxed{42}$."}',
    '{"problem": "What is 6 · 7?", "answer": "42"}',
)
MAX_ANSWER = 1000
"""Characters of an answer without a mark: longer ones are whole solutions that lack it."""


def read_problems(path: str) -> list[Question]:
    """Return every problem of the file with its final answer, in its order. Raise BadData."""
    return read_published(path, FORMS, _problem)


def _problem(row: Mapping[str, Any]) -> Question:
    problem = text_of(row, "problem" if "problem" in row else "question")
    answer = _reference(row)
    if not normalise(answer):
        raise BadRow(f"the final answer must not be blank, but is {answer!r}")
    return Question(problem, answer, topics_of(row))


def _reference(row: Mapping[str, Any]) -> str:
    """Return the final answer of the field `answer`, or of `solution` if the row has no answer."""
    if "answer" not in row and "solution" in row:
        answer = marked_answer(text_of(row, "solution"))
        if not answer:
            raise BadRow(r"solution must have its final answer within \boxed{} or after ####")
        return answer
    text = text_of(row, "answer").strip()
    answer = marked_answer(text)
    if not answer and ("####" in text or "\n" in text or len(text) > MAX_ANSWER):
        raise BadRow(r"answer must be a final answer alone, or text with a number after #### or an answer in \boxed{}")
    return answer or text
