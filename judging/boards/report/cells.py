"""Format cells and tables of text, aligned under their headings."""

from __future__ import annotations

from collections.abc import Sequence

from judging.stats.agreement import Estimate
from judging.stats.ratings import Range

NONE = "–"


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return columns under their headings, the first aligned to the left, the others to the right."""
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) if not k else cell.rjust(width) for k, (cell, width) in enumerate(line))
        for line in (list(zip(row, widths, strict=True)) for row in [head, *rows])
    ]
    return "\n".join(line.rstrip() for line in lines)


def rating_cells(bounds: Range | None, sign: str = "") -> list[str]:
    """Return a rating and its interval; with `sign`, both have their sign."""
    if bounds is None:
        return [NONE, ""]
    between = "" if bounds.low is None or bounds.high is None else f"[{bounds.low:{sign}.0f}, {bounds.high:{sign}.0f}]"
    return [f"{bounds.value:{sign}.0f}", between]


def share_text(estimate: Estimate) -> str:
    """Return a share without its interval."""
    return "n/a" if estimate.value is None else f"{estimate.value:.1%}"


def estimate_cells(estimate: Estimate) -> list[str]:
    """Return a number and its interval, in two cells."""
    if estimate.value is None:
        return ["n/a", ""]
    return [f"{estimate.value:.3f}", "" if estimate.low is None else f"[{estimate.low:.3f}, {estimate.high:.3f}]"]


def percent_text(estimate: Estimate) -> str:
    """Return a share with its interval as text, or the reason why there is none."""
    if estimate.value is None:
        return estimate.why
    return f"{estimate.value:.1%}" + ("" if estimate.low is None else f" [{estimate.low:.1%}, {estimate.high:.1%}]")


def number_text(estimate: Estimate) -> str:
    """Return a number with its interval as text, or the reason why there is none."""
    if estimate.value is None:
        return estimate.why
    return f"{estimate.value:.3f}" + ("" if estimate.low is None else f" [{estimate.low:.3f}, {estimate.high:.3f}]")


def votes_text(number: float) -> str:
    """Return a number of votes as text, with halves if two games count as one vote."""
    return f"{number:.1f}".removesuffix(".0")


def count_noun(count: int, noun: str) -> str:
    """Return the count with its noun: `1 prompt`, `2 prompts`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
