"""Trainings: runs that change weights."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _

from runs.kinds.kind import Kind, Resumption
from workers.config.methods import METHODS

TRAINING = Kind(
    slug="training",
    methods=tuple(slug for slug, method in METHODS.items() if method.is_training),
    tabs=("overview", "curves", "responses", "weights", "log", "config", "checkpoints"),
    resumption=Resumption(
        refusal=_("%(name)s has reached its last step; clone it to train again, with another seed or config"),
    ),
    essential=(
        "es.iterations", "es.population", "es.sigma", "es.alpha", "es.noise", "es.prompts", "es.max_new_tokens",
        "grpo.max_steps", "grpo.learning_rate", "grpo.num_generations", "grpo.per_device_train_batch_size",
        "grpo.max_completion_length", "grpo.temperature", "grpo.beta",
    ),
    optimizes_reward=True,
    lists_as_evaluation=True,  # The parent of an imported one is the training that it evaluates.
)  # fmt: skip
