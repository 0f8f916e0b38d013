"""Map the names of metrics of transformers and TRL to esweb's, as the site does when it imports such a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

HELD_OUT_KEYS: dict[str, tuple[str, ...]] = {
    "reward": ("reward/mean",),
    "kl": ("kl", "kl/k3"),
    "completions/mean_length": ("response/tokens_mean",),
    "completions/clipped_ratio": ("response/clipped_ratio",),
}
"""Map metrics of TRL's evaluation to esweb's. TRL's KL is the k3 estimate, in nats per token."""


def esweb_keys(name: str) -> tuple[str, ...]:
    """Return esweb's keys of a key of a trainer's logs: under train/ for training, under eval/ for evaluation."""
    if name.startswith("eval_"):
        rest = name[len("eval_") :]
        return (*HELD_OUT_KEYS.get(rest, ()), f"eval/{rest}")
    if name == "step_time":
        return ("time/step_seconds",)
    return ("train/reward/mean", "train/reward") if name == "reward" else (f"train/{name}",)


def rename_metrics(logs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of a trainer's logs under esweb's keys. Texts, flags and missing values are left out."""
    return {
        key: value
        for name, value in logs.items()
        if value is not None and not isinstance(value, (str, bool))
        for key in esweb_keys(name)
    }
