"""TRL's GRPOTrainer, with the prompt format of this project, more measures, and records of its completions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from workers.engines.grpo import measures
from workers.engines.grpo.completions import NUMBER, CompletionRecorder
from workers.engines.grpo.distribution import DistributedTrainer
from workers.models import PromptFormat


class Trainer(DistributedTrainer):
    """TRL's trainer, with prompts given as text and made into tokens by the format that evaluation uses too.

    TRL's own step adds a second BOS to text that a template wrote, ends an assistant's turn that is to go on, and
    fails for messages where the tokenizer has no template.

    Measures and records use what TRL has computed: no further forward pass, and nothing changes in the training.
    """

    def __init__(self, prompts: PromptFormat, recorder: CompletionRecorder | None = None, **arguments: Any) -> None:
        self._prompts = prompts
        self._recorder = recorder
        self._log_probs: Tensor | None = None
        self._policy_mask: Tensor | None = None
        self._generated: dict[str, Any] = {}
        self._token_means = measures.TokenMeans(self._sum)
        super().__init__(**arguments)

    def _tokenize_prompts(self, prompts: Sequence[str]) -> tuple[list[list[int]], None, dict[str, Any]]:
        """Return the prompts' token ids; no images and no other fields."""
        return [self._prompts.encode(prompt) for prompt in prompts], None, {}

    def _calculate_rewards(
        self, inputs: list[dict[str, Any]], prompts: list[str], completions: list[str], ids: list[list[int]]
    ) -> Tensor:
        """Return the rewards of all processes' completions [completions, 1], and log the groups without variance."""
        rewards: Tensor = super()._calculate_rewards(inputs, prompts, completions, ids)
        if self.model.training:
            share = measures.zero_variance_share(rewards[:, 0], self.num_generations)
            self._metrics["train"][measures.ZERO_VARIANCE].append(share)
        ends = {*self.eos_token_ids, self._tokenizer.pad_token_id}
        start = self.accelerator.process_index * len(completions)
        self._generated = {
            "examples": [row["example"] for row in inputs],
            "texts": completions,
            "lengths": [len(tokens) for tokens in ids],
            "clipped": [tokens[-1] not in ends for tokens in ids],
            "fitness": rewards[start : start + len(completions), 0].tolist(),
        }
        return rewards

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """Return TRL's batch. The completions of a step to record get their numbers in it."""
        batch: dict[str, Any] = super()._generate_and_score_completions(inputs)
        step = self.state.global_step + 1
        if self._recorder is not None and self.model.training and self._recorder.is_due(step):
            batch[NUMBER] = self._recorder.add_generation(step, batch, **self._generated)
        return batch

    def _get_per_token_logps_and_entropies(self, *args: Any, **arguments: Any) -> tuple[Tensor, Tensor | None, Any]:
        """Return what TRL does, and remember the log probabilities of the loss, which alone requests entropies."""
        log_probs, entropies, aux_loss = super()._get_per_token_logps_and_entropies(*args, **arguments)
        if arguments.get("compute_entropy"):
            self._log_probs = log_probs.detach()
        return log_probs, entropies, aux_loss

    def get_off_policy_mask(self, *args: Any, **arguments: Any) -> Tensor:
        """Return TRL's mask, and remember it for the records."""
        self._policy_mask = super().get_off_policy_mask(*args, **arguments)
        return self._policy_mask

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        """Return TRL's loss, and log the measures of the same forward pass."""
        loss: Tensor = super()._compute_loss(model, inputs)
        log_probs, self._log_probs = self._log_probs, None
        policy_mask, self._policy_mask = self._policy_mask, None
        if log_probs is None or not self.model.training:
            return loss
        with torch.no_grad():
            self._token_means.add(self._metrics["train"], measures.token_sums(log_probs, inputs))
            if self._recorder is not None:
                self._recorder.observe(inputs, log_probs, policy_mask)
        return loss

    def training_step(self, *args: Any, **arguments: Any) -> Tensor:
        """Return TRL's loss of a forward and backward pass. After the last pass of a step, record its completions."""
        loss: Tensor = super().training_step(*args, **arguments)
        if self._recorder is not None and self.accelerator.sync_gradients:
            self._recorder.write_step(
                self.state.global_step + 1,
                is_main=self.accelerator.is_main_process,
                has_policy_term_only=not (self.beta or self._entropy_bonus_enabled or self.aux_loss_enabled),
            )
        return loss

    def _sum(self, values: Tensor) -> Tensor:
        return self.accelerator.reduce(values, reduction="sum")  # type: ignore[no-any-return]
