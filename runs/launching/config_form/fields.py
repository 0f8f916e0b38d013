"""Fields of the launch form: the settings that have one, seeds as people type them, and the config that results."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.launching.config_form.field import written
from workers.config import ConfigError, Problem, RunConfig, knobs


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


def problems_of(config: Mapping[str, Any]) -> list[Problem]:
    """What of a stored config, made by another version, no longer fits."""
    try:
        RunConfig.from_json(config)
    except ConfigError as error:
        return [
            Problem(p.path, f"{p.message}. It stood at {standing_at(config, p.path)!r:.200}") for p in error.problems
        ]
    return []


def standing_at(config: Mapping[str, Any], path: str) -> Any:
    """What stands in a config at a dotted path; None where nothing does."""
    value: Any = config
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def assembled(data: Mapping[str, Any]) -> dict[str, Any]:
    """Fields -> a config's JSON: sections nested, the other methods' left out, empty knobs left to their defaults."""
    method = data.get("method") or ""
    config: dict[str, Any] = {method: {}} if method in METHODS else {}
    task = data.get("task.name") or KNOBS["task.name"].default
    for field, knob in KNOBS.items():
        section, value = field.partition(".")[0], data.get(field)
        off = any(field.startswith(f"{o}.") and not data.get(o) for o in OPTIONAL)
        if value is None or off or (section in METHODS and section != method) or knob.tag not in ("", task):
            continue
        *outer, name = knob.path.split(".")
        place = config
        for key in outer:
            place = place.setdefault(key, {})
        place[name] = value
    return config


def initial_from(config: Mapping[str, Any]) -> dict[str, Any]:
    """A config's JSON -> what stands in the fields; defaults for what it does not say."""
    out: dict[str, Any] = {}
    task = standing_at(config, "task.name") or KNOBS["task.name"].default
    for field, knob in KNOBS.items():
        value = standing_at(config, knob.path) if knob.tag in ("", task) else None
        chosen = knob.default if value is None else value
        out[field] = None if chosen is None else written(knob, chosen)
    return out | {path: bool((config.get(path.partition(".")[0]) or {}).get("lora")) for path in OPTIONAL}


SEEDS_AT_MOST = 20


def seeds(text: str) -> list[int]:
    """`0, 1, 4-6` -> [0, 1, 4, 5, 6], each once. Raises ValueError saying what is wrong."""
    found: dict[int, None] = {}
    for part in (p for p in re.split(r"[,\s]+", text.strip()) if p):
        match = re.fullmatch(r"(\d{1,10})(?:[-–](\d{1,10}))?", part)
        if match is None:
            raise ValueError(gettext("must be whole numbers such as 0, 1, 2 or 0-4, not %(part)r") % {"part": part})
        first, last = int(match[1]), int(match[2] or match[1])
        if not 0 <= last - first < SEEDS_AT_MOST:
            said = gettext("a range goes up and has at most %(most)s seeds, not %(part)r")
            raise ValueError(said % {"most": SEEDS_AT_MOST, "part": part})
        found |= dict.fromkeys(range(first, last + 1))
    if len(found) > SEEDS_AT_MOST:
        raise ValueError(gettext("at most %(most)s at once, not %(n)s") % {"most": SEEDS_AT_MOST, "n": len(found)})
    return list(found)
