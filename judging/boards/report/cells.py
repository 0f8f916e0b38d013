"""Format estimates and counts as text."""

from __future__ import annotations

from collections.abc import Callable

from judging.stats.agreement import Estimate


def estimate_text(estimate: Estimate, write: Callable[[float], str]) -> str:
    """Return a number with its interval as text, or the reason why there is none."""
    if estimate.value is None:
        return estimate.why
    low, high = estimate.low, estimate.high
    return write(estimate.value) + ("" if low is None or high is None else f" [{write(low)}, {write(high)}]")


def count_noun(count: int, noun: str) -> str:
    """Return the count with its noun: `1 prompt`, `2 prompts`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
