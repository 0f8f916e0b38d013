"""Cells and tables of text, aligned under their heads."""

from __future__ import annotations

from collections.abc import Sequence

from judging.stats.agreement import Estimate
from judging.stats.ratings import Range

NONE = "–"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns under their heads; the first to the left, the others to the right."""
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    lines = [
        "  ".join(cell.ljust(width) if not k else cell.rjust(width) for k, (cell, width) in enumerate(line))
        for line in (list(zip(row, widths, strict=True)) for row in [head, *rows])
    ]
    return "\n".join(line.rstrip() for line in lines)


def interval(one: Range | None, sign: str = "") -> list[str]:
    """A rating and its interval; the sign on both where one is asked for."""
    if one is None:
        return [NONE, ""]
    between = "" if one.low is None or one.high is None else f"[{one.low:{sign}.0f}, {one.high:{sign}.0f}]"
    return [f"{one.value:{sign}.0f}", between]


def share(one: Estimate) -> str:
    """A share without its interval."""
    return "n/a" if one.value is None else f"{one.value:.1%}"


def estimate(one: Estimate) -> list[str]:
    """A number and its interval, in two cells."""
    if one.value is None:
        return ["n/a", ""]
    return [f"{one.value:.3f}", "" if one.low is None else f"[{one.low:.3f}, {one.high:.3f}]"]


def percent(one: Estimate) -> str:
    """A share with its interval, in words, or why there is none."""
    if one.value is None:
        return one.why
    return f"{one.value:.1%}" + ("" if one.low is None else f" [{one.low:.1%}, {one.high:.1%}]")


def number(one: Estimate) -> str:
    """A number with its interval, in words, or why there is none."""
    if one.value is None:
        return one.why
    return f"{one.value:.3f}" + ("" if one.low is None else f" [{one.low:.3f}, {one.high:.3f}]")


def votes(number: float) -> str:
    """How many, to the last one: halves where two games make one."""
    return f"{number:.1f}".removesuffix(".0")


def many(count: int, what: str) -> str:
    """`1 prompt`, `2 prompts`."""
    return f"{count} {what}{'' if count == 1 else 's'}"
