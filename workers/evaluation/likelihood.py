"""The log-probability of the right answer against wrong answers, which no length of a response changes.

    score(a) = 1/|a| Σ_t log π(a_t | prompt, a_<t)      nats per token, at temperature 1

`a` is a candidate as the whole response: its tokens follow the prompt directly, where the first token of a response
would be. The end token is not among them: its probability says how terse a model is, which a reward for short
responses changes for right and wrong answers alike. The model's own response is not read, so neither its length nor its
form matters; the mean per token compares candidates of different length. The right answer is preferred if its score is
above that of every wrong one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from workers.evaluation.token_batches import batches, blocks, right_padded
from workers.models import PromptFormat
from workers.tasks import Example, Task
from workers.tasks.protocols import ComparedTask


@dataclass(frozen=True)
class Candidates:
    """The tokens of a prompt's right answer, and of wrong ones."""

    right: list[int]
    wrong: tuple[list[int], ...]


@dataclass(frozen=True)
class Likelihood:
    """Mean log-probability per token, in nats: of the right answer, and of the likeliest wrong one."""

    right: float
    wrong: float

    @property
    def margin(self) -> float:
        """Return by how many nats per token the right answer is likelier; negative if a wrong one is."""
        return self.right - self.wrong

    @property
    def prefers_right(self) -> bool:
        return self.right > self.wrong

    def parts(self) -> dict[str, float]:
        """Return the values as parts of the greedy response."""
        return {
            "right_likelihood": self.right,
            "wrong_likelihood": self.wrong,
            "prefers_right": float(self.prefers_right),
        }


def candidates_of(task: Task, example: Example, prompts: PromptFormat) -> Candidates | None:
    """Return the tokens of the answers to compare; None if the task knows no wrong ones for this prompt."""
    if not isinstance(task, ComparedTask) or not example.target.strip():
        return None
    wrong = tuple(prompts.response_ids(example.messages, text) for text in task.wrong_answers(example))
    right = prompts.response_ids(example.messages, example.target.strip())
    return Candidates(right, wrong) if wrong and right and all(wrong) else None


def likelihoods(
    model: nn.Module, prompts: Sequence[Sequence[int]], candidates: Sequence[Candidates | None]
) -> list[Likelihood | None]:
    """Return the likelihood of each prompt's answers in tokens; None for prompts without candidates."""
    pairs = [
        (prompt, tokens)
        for prompt, answers in zip(prompts, candidates, strict=True)
        if answers is not None
        for tokens in (answers.right, *answers.wrong)
    ]
    scores = iter(mean_log_probabilities(model, [p for p, _ in pairs], [tokens for _, tokens in pairs]))
    results: list[Likelihood | None] = []
    for answers in candidates:
        if answers is None:
            results.append(None)
        else:
            right = next(scores)
            results.append(Likelihood(right, max(next(scores) for _ in answers.wrong)))
    return results


@torch.no_grad()
def mean_log_probabilities(
    model: nn.Module, prompts: Sequence[Sequence[int]], completions: Sequence[Sequence[int]]
) -> list[float]:
    """Return the mean log-probability per token of completions in tokens, none empty, each after its prompt, in nats.

    The model computes in its own dtype; its logits are normalised in float32 and summed in float64.
    """
    means: dict[int, float] = {}
    device = next(model.parameters()).device
    for rows in batches(model, prompts, completions, models=1):
        ids = right_padded([[*prompts[i], *completions[i]] for i in rows], device)
        # The logits that predict completions are the last ones of each row; the prompts' are never computed.
        keep = ids.shape[1] - min(len(prompts[i]) for i in rows) + 1
        logits = model(input_ids=ids, use_cache=False, logits_to_keep=keep).logits
        for at, i in enumerate(rows):
            start, length = len(prompts[i]) - 1 - (ids.shape[1] - keep), len(completions[i])
            targets = ids[at, len(prompts[i]) : len(prompts[i]) + length]
            total = sum(
                float(part.float().log_softmax(-1).gather(1, tokens[:, None]).sum(dtype=torch.float64))
                for part, tokens in blocks(logits[at, start : start + length], targets)
            )
            means[i] = total / length
    return [means[i] for i in range(len(completions))]
