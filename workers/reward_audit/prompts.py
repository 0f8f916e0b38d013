"""The prompts of an audit, each with its right answer, the answers to other prompts, and its gold measure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from workers.analysis.right import is_equal, right_of
from workers.config import ConfigError, Problem
from workers.tasks import Example, Score, Task
from workers.tasks.protocols import COST, AnsweredTask

FORMS = ("{}", "The answer is {}.", "\\boxed{{}}", "<answer>{}</answer>", "<think></think>\n<answer>{}</answer>",
         "#### {}", "({})")  # fmt: skip
"""Forms in which a task may expect an answer; {} is the answer. The first form with the highest reward is the right
answer's."""


@dataclass(frozen=True)
class AuditedPrompt:
    """A prompt. `right` is the response that deserves the full reward, None if it is not known; `target` its content.

    `other` is the right response to another prompt with another answer, `other_of_length` the one whose length is
    nearest; `candidates` are the distinct answers of all audited prompts.
    """

    example: Example
    question: str
    target: str
    right: str | None
    other: str = ""
    other_of_length: str = ""
    other_target: str = ""
    candidates: tuple[str, ...] = ()


def select_examples(task: Task, count: int, seed: int) -> list[Example]:
    """Return `count` training examples, selected at random by the seed, in the order of the task. Raise ConfigError if
    there are none."""
    examples = task.examples("train")
    if not examples:
        raise ConfigError([Problem("task.options", "has no training prompts, whose reward could be audited")])
    chosen = sorted(random.Random(seed).sample(range(len(examples)), min(count, len(examples))))
    return [examples[i] for i in chosen]


def right_responses(task: Task, example: Example) -> list[str] | None:
    """Return the right response of the task itself, or the target in each form; None if no right answer is known."""
    if isinstance(task, AnsweredTask):
        response = task.right_response(example)
        return None if response is None else [response]
    target = example.target.strip()
    return [form.replace("{}", target) for form in FORMS] if target else None


def make_prompts(examples: Sequence[Example], rights: Sequence[str | None]) -> list[AuditedPrompt]:
    """Return the prompts, each with the right responses to the others. `rights` has one for each example."""
    targets = [example.target.strip() for example in examples]
    candidates = tuple(dict.fromkeys(filter(None, targets)))
    answers = list(zip(targets, rights, strict=True))
    prompts = []
    for i, (example, right) in enumerate(zip(examples, rights, strict=True)):
        # From the next prompt on, so that not all get the first one's answer.
        others = [(t, r) for t, r in answers[i + 1 :] + answers[:i] if r and r != right and (not t or t != targets[i])]
        nearest = min((r for _, r in others), key=lambda r: abs(len(r) - len(right or "")), default="")
        target, other = others[0] if others else ("", "")
        question = example.messages[-1]["content"]
        prompts.append(
            AuditedPrompt(example, question, targets[i], right, other or "", nearest, target, candidates)
        )  # fmt: skip
    return prompts


def judge(task: Task, prompt: AuditedPrompt, text: str, score: Score, *, is_answer: bool) -> bool | None:
    """Return the gold measure of a response; None if it is not known.

    Where scores have a cost, a response is wrong if it is unsafe. A safe one is right if a model has answered the
    prompt with it; of a stock phrase that is not known.
    """
    if COST in score.parts:
        return False if score.parts[COST] > 0 else is_answer or None
    return right_of(task.name, score.parts, text, prompt.target, prompt.question)


def is_right_response(prompt: AuditedPrompt, text: str) -> bool:
    """Return whether a response is the right one itself, whatever attack has made it."""
    return is_equal(text, prompt.target) or (prompt.right is not None and text.strip() == prompt.right.strip())
