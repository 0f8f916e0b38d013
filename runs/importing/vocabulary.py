"""Map names of measurements of other programs to ours (docs/guides/import.md). Unmapped ones retain their names."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping

from runs.ingest import MAX_KEY, UNPRINTABLE

MAX_CACHED_NAMES = 512
"""A log repeats the same few names in each of its lines."""
STATISTICS = {"mean": "mean", "avg": "mean", "average": "mean", "std": "std", "min": "min", "max": "max", "best": "max"}
HELD_OUT_KEYS = {
    "reward": ("reward/mean",),
    "kl": ("kl", "kl/k3"),
    "completions/mean_length": ("response/tokens_mean",),
    "completions/clipped_ratio": ("response/clipped_ratio",),
}
"""Map keys of TRL's evaluation to ours. TRL's KL is Schulman's k3 estimate, in nats per token."""
ES_TAGS = frozenset({"time/perturbation_application", "time/broadcast", "time/iteration"})
"""Tags that only the published ES scripts write. Their reward/… is the population's and not the evaluator's."""
SAFETY_KEYS = {"lambda/value": "lambda", "time/iteration": "time/step_seconds"}


@functools.lru_cache(maxsize=MAX_CACHED_NAMES)
def es_key(label: str) -> str:
    """Return the key of a label of an `Iteration …` line, which reports the population's own rewards."""
    name = slug(label)
    if name in ("time", "iteration_time", "elapsed"):
        return "time/step_seconds"
    bare = name.removesuffix("_reward").removesuffix("_fitness").removeprefix("reward_")
    return f"train/reward/{STATISTICS[bare]}" if bare in STATISTICS else f"train/{name}"


@functools.lru_cache(maxsize=MAX_CACHED_NAMES)
def es_held_out_key(label: str) -> str:
    """Return the key of a label of an `[Eval]` line: the centre weights' rewards on the held-out prompts."""
    name = slug(label)
    bare = name.removesuffix("_reward").removeprefix("reward_")
    return f"reward/{STATISTICS[bare]}" if bare in STATISTICS else f"eval/{name}"


def trl_keys(name: str) -> tuple[str, ...]:
    """Return our keys of a key of TRL's logs. Keys of training are under train/, as those of our own engine."""
    if name.startswith("eval_"):
        rest = name.removeprefix("eval_")
        return (*HELD_OUT_KEYS.get(rest, ()), f"eval/{rest}")
    if name == "step_time":
        return ("time/step_seconds",)
    return ("train/reward/mean", "train/reward") if name == "reward" else (f"train/{name}",)


def tag_keys(tag: str, *, is_es: bool) -> tuple[str, ...]:
    """Return our keys of a tag of an event file. `is_es`: one of the published ES scripts wrote it."""
    head, _, rest = tag.partition("/")
    if head == "train" and rest:
        return trl_keys(rest)
    if head == "eval" and rest:
        return (
            (f"reward/{STATISTICS[bare]}", tag)
            if (bare := slug(rest).removesuffix("_reward")) in STATISTICS
            else (trl_keys(f"eval_{rest}"))
        )
    if is_es and head in ("reward", "combined") and rest in STATISTICS:
        return (f"train/reward/{STATISTICS[rest]}",)
    return (SAFETY_KEYS.get(tag, tag),) if is_es else (tag,)


def is_es(tags: Iterable[str]) -> bool:
    """Return whether one of the published ES scripts wrote these tags."""
    return not ES_TAGS.isdisjoint(tags)


def is_grpo(keys: Iterable[str]) -> bool:
    """Return whether TRL's keys are those of a trainer that samples and rewards, not of one that compares."""
    names = {key.removeprefix("eval_") for key in keys}
    return "rewards/chosen" not in names and any(
        name in ("reward", "reward_std", "kl") or name.startswith(("rewards/", "completions/")) for name in names
    )


def rename_keys(values: Mapping[str, float]) -> dict[str, float]:
    """Return TRL's values under our keys."""
    return {key: value for name, value in values.items() for key in trl_keys(name)}


def slug(label: str) -> str:
    """Convert a label to a key: `GPU Memory (MB)` becomes gpu_memory_mb."""
    return re.sub(r"[^\w/.%-]+", "_", label.strip()).strip("_").lower()


def is_usable(key: str) -> bool:
    """Return whether the key can be the name of a series."""
    return 0 < len(key) <= MAX_KEY and _is_printable(key)


@functools.lru_cache(maxsize=MAX_CACHED_NAMES)
def _is_printable(key: str) -> bool:
    return not UNPRINTABLE.search(key)
