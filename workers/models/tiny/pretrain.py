"""Pre-training: next-token prediction of the answers, given their prompts.

AdamW, linear warm-up and decay, gradient norm clipped at 1. Padding is on the right here: attention is causal, so no
token looks at it and it needs no mask.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import torch
from torch.nn import functional

from workers.models.tiny.recipe import Recipe

IGNORED = -100
BETAS, DECAY = (0.9, 0.98), 0.1
Report: TypeAlias = Callable[[int, float], None]
"""Called after each step with the number of steps done and the loss."""


class Lesson(NamedTuple):
    """The tokens of a prompt with its answer, and the index at which the answer begins: the loss counts from there
    on."""

    tokens: list[int]
    answer_at: int


def pretrain(model: Any, lessons: Sequence[Lesson], recipe: Recipe, seed: int, report: Report) -> float:
    """Train the model in place. Return the mean loss of the last tenth of the steps, in nats per token."""
    optimiser = torch.optim.AdamW(model.parameters(), recipe.learning_rate, BETAS, weight_decay=DECAY, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _rate(step, recipe))
    losses = []
    model.train()
    for step, batch in zip(range(recipe.steps), _batches(lessons, recipe.batch, random.Random(seed)), strict=False):
        loss = _loss(model, *_tensors(batch))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        losses.append(loss.item())
        report(step + 1, losses[-1])
    model.eval()
    last = losses[-max(1, recipe.steps // 10) :]
    return sum(last) / len(last)


def _rate(step: int, recipe: Recipe) -> float:
    warm = (step + 1) / recipe.warmup_steps
    left = (recipe.steps - step) / max(1, recipe.steps - recipe.warmup_steps)
    return min(1.0, warm, left)


def _loss(model: Any, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the cross entropy over answer tokens. Logits are computed at those positions only: a third of the work."""
    hidden = model.model(input_ids=tokens, use_cache=False).last_hidden_state[:, :-1]
    is_answer = labels[:, 1:] != IGNORED
    return functional.cross_entropy(model.lm_head(hidden[is_answer]), labels[:, 1:][is_answer])


def _tensors(batch: Sequence[Lesson]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (tokens, labels), both int64 [batch, longest]; labels are IGNORED on prompts and padding."""
    longest = max(len(lesson.tokens) for lesson in batch)
    tokens = torch.zeros(len(batch), longest, dtype=torch.long)
    labels = torch.full((len(batch), longest), IGNORED)
    for row, lesson in enumerate(batch):
        tokens[row, : len(lesson.tokens)] = torch.tensor(lesson.tokens)
        labels[row, lesson.answer_at : len(lesson.tokens)] = torch.tensor(lesson.tokens[lesson.answer_at :])
    return tokens, labels


def _batches(lessons: Sequence[Lesson], size: int, rng: random.Random) -> Iterator[Sequence[Lesson]]:
    """Yield batches of epoch after epoch, without end, each epoch shuffled again.

    Batches of like lengths would save a fifth of the time, but each would hold one kind of answer only, and which kind
    the greedy answer is of would be chance: with them 0 to 40 % of the arithmetic was in its format, without them all.
    """
    while True:
        mixed = rng.sample(lessons, len(lessons))
        for start in range(0, len(mixed), size):
            yield mixed[start : start + size]
