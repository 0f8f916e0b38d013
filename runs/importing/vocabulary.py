"""Names of measurements elsewhere -> ours (docs/guides/import.md). What has no place in ours keeps its own name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from runs.ingest import MAX_KEY, UNPRINTABLE

SPREAD = {"mean": "mean", "avg": "mean", "average": "mean", "std": "std", "min": "min", "max": "max", "best": "max"}
HELD_OUT = {
    "reward": ("reward/mean",),
    "kl": ("kl", "kl/k3"),
    "completions/mean_length": ("response/tokens_mean",),
    "completions/clipped_ratio": ("response/clipped_ratio",),
}
"""Keys of TRL's evaluation -> ours. TRL's KL is Schulman's k3 estimate, in nats per token."""
ES_TAGS = frozenset({"time/perturbation_application", "time/broadcast", "time/iteration"})
"""Tags that only the published ES scripts write: theirs, reward/… is the population's and not the evaluator's."""
SAFETY = {"lambda/value": "lambda", "time/iteration": "time/step_seconds"}


def es_key(label: str) -> str:
    """A label of an `Iteration …` line: the population's own rewards."""
    name = slug(label)
    if name in ("time", "iteration_time", "elapsed"):
        return "time/step_seconds"
    bare = name.removesuffix("_reward").removeprefix("reward_")
    return f"train/reward/{SPREAD[bare]}" if bare in SPREAD else f"train/{name}"


def es_held_out_key(label: str) -> str:
    """A label of an `[Eval]` line: the centre weights' rewards on the held-out prompts."""
    name = slug(label)
    bare = name.removesuffix("_reward").removeprefix("reward_")
    return f"reward/{SPREAD[bare]}" if bare in SPREAD else f"eval/{name}"


def trl_keys(name: str) -> tuple[str, ...]:
    """A key of TRL's logs: an evaluation's, or training's, which stay under train/ as those of our own engine do."""
    if name.startswith("eval_"):
        rest = name.removeprefix("eval_")
        return (*HELD_OUT.get(rest, ()), f"eval/{rest}")
    if name == "step_time":
        return ("time/step_seconds",)
    return ("train/reward/mean", "train/reward") if name == "reward" else (f"train/{name}",)


def tag_keys(tag: str, *, is_es: bool) -> tuple[str, ...]:
    """A tag of an event file. `is_es`: one of the published ES scripts wrote it."""
    head, _, rest = tag.partition("/")
    if head == "train" and rest:
        return trl_keys(rest)
    if head == "eval" and rest:
        return (
            (f"reward/{SPREAD[bare]}", tag)
            if (bare := slug(rest).removesuffix("_reward")) in SPREAD
            else (trl_keys(f"eval_{rest}"))
        )
    if is_es and head in ("reward", "combined") and rest in SPREAD:
        return (f"train/reward/{SPREAD[rest]}",)
    return (SAFETY.get(tag, tag),) if is_es else (tag,)


def is_es(tags: Iterable[str]) -> bool:
    """True for the tags of one of the published ES scripts."""
    return not ES_TAGS.isdisjoint(tags)


def is_grpo(keys: Iterable[str]) -> bool:
    """True where TRL's keys are those of a trainer that samples and rewards, and not those of one that compares."""
    names = {key.removeprefix("eval_") for key in keys}
    return "rewards/chosen" not in names and any(
        name in ("reward", "reward_std", "kl") or name.startswith(("rewards/", "completions/")) for name in names
    )


def renamed(values: Mapping[str, float]) -> dict[str, float]:
    """TRL's values under our names."""
    return {key: value for name, value in values.items() for key in trl_keys(name)}


def slug(label: str) -> str:
    """`GPU Memory (MB)` -> gpu_memory_mb."""
    return re.sub(r"[^\w/.%-]+", "_", label.strip()).strip("_").lower()


def is_usable(key: str) -> bool:
    """True where a series can be called so."""
    return 0 < len(key) <= MAX_KEY and not UNPRINTABLE.search(key)
