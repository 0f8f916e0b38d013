"""Record the completions of the training with their advantages, and why some of them move nothing.

Each process notes its own completions when they are generated, and adds what the loss computes of them during the step.
At the end of the step rank 0 gathers them, in the order in which the reward saw them, and writes one record each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from accelerate.utils import gather_object
from torch import Tensor

from workers.engines.grpo.measures import loss_mask
from workers.models import PromptFormat
from workers.records import Response
from workers.tasks import Example, Score

SPLIT = "train"
NUMBER = "completion_number"
"""Key of TRL's batches for the numbers of completions, which shuffling and splitting a batch keep with their rows."""
NUMBERS_PER_STEP = 2**32
ZERO_VARIANCE = "discarded/zero_variance"
"""The rewards of its group are all equal, so its advantage is 0, and the loss has no other term."""
TRUNCATED = "discarded/truncated"
"""It was cut off at the maximum length, and mask_truncated_completions leaves such completions out."""
OFF_POLICY = "discarded/off_policy"
"""off_policy_mask_threshold left it out of the loss of the step that generated it."""
IMPORTANCE_RATIO = "discarded/importance_ratio"
"""vLLM's correction set the importance ratio of all its tokens to 0."""


class ScoreSource(Protocol):
    """The reward function of a training."""

    scores: Sequence[Score]
    """Scores of its last call, of the completions of all processes in order; needed in rank 0 alone."""


@dataclass
class Completion:
    """One completion of this process. `is_clipped`: it was cut off at the maximum length. `fitness` is the number that
    advantages are computed from; `log_prob` the mean of log π over its tokens in nats, at the sampling temperature,
    None if no token is in the loss."""

    example: int
    text: str
    tokens: int
    is_clipped: bool
    fitness: float
    advantage: float
    log_prob: float | None = None
    reasons: list[str] = field(default_factory=list)


@dataclass
class Generation:
    """The completions of one generation: of this process by their numbers, and in rank 0 the scores of all."""

    completions: dict[int, Completion]
    scores: Sequence[Score]


class CompletionRecorder:
    """Record all completions that the steps `every`, 2·`every`, … generate; none if `every` is 0.

    Completions that several steps share are recorded once, at the step that generates them. All processes create one
    with the same settings and call the same methods; `write` is called in rank 0 alone.
    """

    def __init__(
        self,
        rewards: ScoreSource,
        examples: Sequence[Example],
        prompts: PromptFormat,
        *,
        every: int,
        group_size: int,
        write: Callable[[Response], object],
    ) -> None:
        self._rewards = rewards
        self._examples = examples
        self._prompts = prompts
        self._every = every
        self._group_size = group_size
        self._write = write
        self._generations: list[Generation] = []
        self._observations: list[tuple[Tensor, Tensor, Tensor | None]] = []

    def is_due(self, step: int) -> bool:
        """Return whether the completions that `step` generates are recorded."""
        return self._every > 0 and step % self._every == 0

    def add_generation(
        self,
        step: int,
        batch: Mapping[str, Tensor],
        examples: Sequence[int],
        texts: Sequence[str],
        lengths: Sequence[int],
        clipped: Sequence[bool],
        fitness: Sequence[float],
    ) -> Tensor:
        """Note the completions that this process generated for `step`, and return their numbers [completions].

        `batch` is TRL's batch of them, in the same order; `lengths` are their numbers of tokens, and `clipped` says
        which were cut off at the maximum length.
        """
        first = step * NUMBERS_PER_STEP + sum(len(generation.completions) for generation in self._generations)
        numbers = torch.arange(first, first + len(texts), device=batch["completion_ids"].device)
        columns = zip(examples, texts, lengths, clipped, fitness, batch["advantages"].tolist(), strict=True)
        rows = {first + i: Completion(*column) for i, column in enumerate(columns)}
        for reason, is_discarded in _discards(batch).items():
            for row, flag in zip(rows.values(), is_discarded.tolist(), strict=True):
                row.reasons += [reason] if flag else []
        self._generations.append(Generation(rows, self._rewards.scores))
        if "old_per_token_logps" in batch:
            self.observe({**batch, NUMBER: numbers}, batch["old_per_token_logps"])
        return numbers

    def observe(self, inputs: Mapping[str, Tensor], log_probs: Tensor, policy_mask: Tensor | None = None) -> None:
        """Note the log probabilities [completions, tokens] that a forward pass gave the completions of a batch.

        `policy_mask` [completions, 1] is 0 for those that the off-policy mask left out of the loss.
        """
        if not self._generations or NUMBER not in inputs:
            return
        mask = loss_mask(inputs)
        # A mean over no token is NaN. The values stay on the device until the end of the step.
        means = log_probs.detach().double().masked_fill(~mask, 0.0).sum(1) / mask.sum(1)
        self._observations.append((inputs[NUMBER], means, policy_mask))

    def write_step(self, step: int, *, is_main: bool, has_policy_term_only: bool) -> None:
        """Write the records of the step that ends, if it generated completions to record. Call it in every process.

        `has_policy_term_only`: the loss has no KL term and no entropy term, so that an advantage of 0 moves nothing.
        """
        if not self._generations:
            return
        generations, self._generations = self._generations, []
        self._apply_observations(generations)
        local = [list(generation.completions.values()) for generation in generations]
        by_process: list[list[list[Completion]]] = gather_object([local])
        if not is_main:
            return
        pairs: list[tuple[Completion, Score]] = []
        for i, generation in enumerate(generations):
            rows = [row for process in by_process for row in process[i]]
            pairs += zip(rows, generation.scores, strict=True)
        for response in self._responses(step, pairs, has_policy_term_only=has_policy_term_only):
            self._write(response)

    def _apply_observations(self, generations: Sequence[Generation]) -> None:
        """Set the values of each completion from its first forward pass."""
        rows = {number: row for generation in generations for number, row in generation.completions.items()}
        observations, self._observations = self._observations, []
        for numbers, means, policy_mask in observations:
            in_loss = [1.0] * len(means) if policy_mask is None else policy_mask.flatten().tolist()
            for number, mean, share in zip(numbers.tolist(), means.tolist(), in_loss, strict=True):
                if (row := rows.get(number)) is None:
                    continue
                if row.log_prob is None and mean == mean:
                    row.log_prob = mean
                if share == 0 and OFF_POLICY not in row.reasons:
                    row.reasons.append(OFF_POLICY)

    def _responses(
        self, step: int, pairs: Sequence[tuple[Completion, Score]], *, has_policy_term_only: bool
    ) -> Iterator[Response]:
        samples: Counter[str] = Counter()
        for group, start in enumerate(range(0, len(pairs), self._group_size)):
            members = pairs[start : start + self._group_size]
            is_flat = has_policy_term_only and len({row.fitness for row, _ in members}) == 1
            for row, score in members:
                example = self._examples[row.example]
                reasons = [*row.reasons, *([ZERO_VARIANCE] if is_flat else [])]
                values = {"advantage": row.advantage, "group": float(group)}
                values |= {} if row.log_prob is None else {"log_prob": row.log_prob}
                values |= {"clipped": 1.0} if row.is_clipped else {}
                yield Response(
                    step=step,
                    split=SPLIT,
                    prompt_id=example.id,
                    sample=samples[example.id],
                    text=row.text,
                    tokens=row.tokens,
                    reward=score.reward,
                    parts={**score.parts, **values, **dict.fromkeys(reasons, 1.0)},
                    prompt=self._prompts.display_text(example.messages),
                    target=example.target,
                    categories=example.categories,
                )
                samples[example.id] += 1


def _discards(batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return by reason which completions TRL left out when it made the batch, bool [completions]."""
    mask = loss_mask(batch)
    # Every completion has a token, so a row without any in the loss was left out as a whole.
    discards = {TRUNCATED: ~batch["completion_mask"].bool().any(1)}
    if "importance_sampling_ratio" in batch:
        has_ratio = ((batch["importance_sampling_ratio"] != 0) & mask).any(1)
        discards[IMPORTANCE_RATIO] = mask.any(1) & ~has_ratio
    return discards
