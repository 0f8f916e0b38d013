"""Good directions of metrics: whether a higher or a lower value is better, known by the metric's key."""

from __future__ import annotations

HIGHER, LOWER = 1, -1
STREAMS = ("train/", "eval/", "sample/")
"""Prefixes that name the stream of a value; the rest of the key names what it measures."""
GOOD_DIRECTIONS = {
    "reward": HIGHER, "rewards": HIGHER, "accuracy": HIGHER, "safety": HIGHER, "score": HIGHER, "win_rate": HIGHER,
    "kl": LOWER, "cost": LOWER, "loss": LOWER, "error": LOWER, "perplexity": LOWER, "es/dead": LOWER,
    "response/empty_ratio": LOWER, "response/clipped_ratio": LOWER,
}  # fmt: skip
"""First parts of keys -> the good direction of the values below them. Other metrics, such as lengths, have none."""
SPREADS = ("std", "reward_std", "n")
"""Last parts of keys that hold a deviation or a count, of which neither direction is good."""


def good_direction(key: str) -> int | None:
    """Return HIGHER or LOWER, the direction in which values of this metric are better; None if it is not known."""
    for stream in STREAMS:
        key = key.removeprefix(stream)
    if key.rpartition("/")[2] in SPREADS:
        return None
    parts = key.split("/")
    prefixes = ("/".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((GOOD_DIRECTIONS[prefix] for prefix in prefixes if prefix in GOOD_DIRECTIONS), None)
