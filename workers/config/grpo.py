"""Knobs of GRPO, in TRL's own names and with TRL's defaults: each is passed to `trl.GRPOConfig` as it stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from workers.config.decode import Problem
from workers.config.es import LoraConfig
from workers.config.knobs import Bounds


@dataclass(frozen=True)
class GrpoConfig:
    """Group Relative Policy Optimization, as TRL's GRPOTrainer does it."""

    max_steps: Annotated[int, Bounds(at_least=1)] = 500
    """Optimiser steps."""
    learning_rate: Annotated[float, Bounds(above=0)] = 1e-6
    """Peak learning rate of AdamW."""
    lr_scheduler_type: Literal["constant", "linear", "cosine", "constant_with_warmup"] = "constant"
    """How the learning rate moves."""
    warmup_steps: Annotated[int, Bounds(at_least=0)] = 0
    """Steps until the learning rate is at its peak."""
    num_generations: Annotated[int, Bounds(at_least=2)] = 8
    """Completions per prompt, the group size G."""
    per_device_train_batch_size: Annotated[int, Bounds(at_least=1)] = 8
    """Completions per device and forward pass; a multiple of num_generations over all accumulation steps."""
    gradient_accumulation_steps: Annotated[int, Bounds(at_least=1)] = 1
    """Forward passes before one optimiser step."""
    max_completion_length: Annotated[int, Bounds(at_least=1)] = 256
    """Longest completion, in tokens."""
    temperature: Annotated[float, Bounds(above=0)] = 1.0
    """Sampling temperature of the training completions."""
    top_p: Annotated[float, Bounds(above=0, at_most=1)] = 1.0
    """Nucleus of the training samples."""
    beta: Annotated[float, Bounds(at_least=0)] = 0.0
    """Weight of the KL term; at 0 TRL keeps no reference model and logs no kl."""
    epsilon: Annotated[float, Bounds(above=0)] = 0.2
    """Clip range of the policy ratio."""
    num_iterations: Annotated[int, Bounds(at_least=1)] = 1
    """Optimisation passes over each batch of completions, μ."""
    loss_type: Literal["dapo", "grpo", "dr_grpo", "bnpo"] = "dapo"
    """How token losses are averaged."""
    scale_rewards: Literal["group", "batch", "none"] = "group"
    """What the advantages are divided by."""
    max_grad_norm: Annotated[float, Bounds(at_least=0)] = 1.0
    """Clip of the gradient norm."""
    save_steps: Annotated[int, Bounds(at_least=0)] = 100
    """Save a checkpoint after this many steps; 0 means only at the end."""
    lora: LoraConfig | None = None
    """Train a LoRA adapter instead of the weights; null for the weights."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Any other field of trl.GRPOConfig, by its TRL name; checked against the installed TRL before training."""

    def problems(self) -> Iterator[Problem]:
        batch = self.per_device_train_batch_size * self.gradient_accumulation_steps
        if batch % self.num_generations:
            yield Problem(
                "num_generations",
                f"must divide per_device_train_batch_size × gradient_accumulation_steps = {batch}, "
                f"not {self.num_generations}",
            )
