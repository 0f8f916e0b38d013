"""The knobs that have a field, by its name, and where each stands on the page."""

from __future__ import annotations

from django.utils.translation import gettext_noop as _

from workers.config import RunConfig, knobs


def field_name(path: str, tag: str) -> str:
    """The field of a knob: its path; task.countdown.train_file where the task has a say, since tasks share names."""
    return path.replace(".options.", f".{tag}.", 1) if tag else path


KNOBS = {
    field_name(k.path, k.tag): k
    for k in knobs(RunConfig)
    if k.path not in ("schema", "seed") and k.resource != "by_hand"
}
"""Name of the field -> knob. What only a run started by hand may set has no field."""
METHODS = ("es", "grpo", "scorer")
OPTIONAL = ("es.lora", "grpo.lora")
"""Sections that may be left out as a whole."""

ESSENTIAL = {
    "method", "model.path", "task.name", "task.own.path", "task.own.options", "task.safety.scorer",
    "task.safety.lambda_rule", "task.safety.lambda_init", "task.safety.lambda_lr", "es.iterations",
    "es.population", "es.sigma", "es.alpha", "es.noise", "es.prompts", "es.max_new_tokens", "grpo.max_steps",
    "grpo.learning_rate", "grpo.num_generations", "grpo.per_device_train_batch_size",
    "grpo.max_completion_length", "grpo.temperature", "grpo.beta", "scorer.name", "scorer.reward_model",
    "scorer.cost_model", "scorer.host", "scorer.secret", "evaluation.every", "evaluation.prompts",
    "evaluation.samples", "compute.cluster", "compute.partition", "compute.cores", "compute.gpus",
}  # fmt: skip
"""Knobs that are not folded away."""

SUGGESTED = ("compute.cluster", "compute.partition")
"""Knobs whose values the clusters' settings name."""
TITLES = {
    "model": _("Model"),
    "task": _("Task"),
    "es": _("Evolution Strategies"),
    "grpo": "GRPO",
    "scorer": _("Scorer"),
    "evaluation": _("Evaluation"),
    "compute": _("Compute"),
    "tracking": _("Tracking"),
}
