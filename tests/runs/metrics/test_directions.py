"""Good directions of metrics, by their keys."""

from __future__ import annotations

from runs.metrics import HIGHER, LOWER, good_direction
from tests.cases import each_case

DIRECTIONS = {
    "reward/mean": HIGHER, "train/reward/max": HIGHER, "reward/format/mean": HIGHER, "accuracy/contains": HIGHER,
    "sample/accuracy/exact": HIGHER, "safety/safe_ratio": HIGHER, "rewards/length": HIGHER, "kl": LOWER, "kl/k3": LOWER,
    "train/kl": LOWER, "cost/mean": LOWER, "eval/loss": LOWER, "es/dead": LOWER, "response/clipped_ratio": LOWER,
    "reward/std": None, "cost/std": None, "eval/n": None, "lambda": None, "response/tokens_mean": None,
    "es/update_norm": None, "klondike": None, "rewarding/mean": None, "": None,
}  # fmt: skip


@each_case("key", DIRECTIONS)
def test_direction_follows_from_the_key(key: str) -> None:
    assert good_direction(key) == DIRECTIONS[key]
