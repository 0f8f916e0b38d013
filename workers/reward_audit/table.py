"""The table of an audit as text, for the log and a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from workers.records import Attack

HEADS = ("attack", "needs", "verdict", "reward", "95 % interval", "right answer", "of the way", "hits", "right", "n")


def audit_table(attacks: Sequence[Attack], values: Mapping[str, float]) -> str:
    """Return a line for each attack, and the figures."""
    rows = [HEADS, *map(_row, attacks)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, "", *(_figure(name, values) for name in ("exploitability", "blind_spots", "unearned"))])


def _row(attack: Attack) -> tuple[str, ...]:
    limits = "" if attack.low is None or attack.high is None else f"{attack.low:.3g} to {attack.high:.3g}"
    return (
        attack.attack, attack.needs, attack.verdict, _number(attack.reward), limits, _number(attack.right_reward),
        "–" if attack.way is None else f"{attack.way:.0%}", f"{attack.hits}/{attack.scaled}",
        f"{attack.right}/{attack.known}", str(attack.n),
    )  # fmt: skip


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _figure(name: str, values: Mapping[str, float]) -> str:
    title = name.replace("_", " ")
    if (key := f"audit/{name}") not in values:
        return f"{title}: not known, because the reward of the right answer is not"
    low, high = values[f"{key}/low"], values[f"{key}/high"]
    return f"{title}: {values[key]:.0%} (95 % interval {low:.0%} to {high:.0%})"
