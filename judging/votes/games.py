"""Rows of two games -> a row each. MT-bench asks its judge about a pair both ways round and keeps both in one row:

model_1, model_2, g1_winner, g2_winner (model_1, model_2, tie, error), judge, question_id, turn

In the first game model_1 stood first, in the second model_2. Both winners are models, whatever side they stood on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OF_GAMES = ("model_1", "model_2", "g1_winner", "g2_winner")
SIDES = {"model_1": "model_a", "model_2": "model_b"}
TURNED = {"model_1": "model_b", "model_2": "model_a"}


def games(row: Any) -> tuple[Any, ...]:
    """The row itself, or the two that it stands for, each with who stood first as its model_a."""
    if not isinstance(row, Mapping) or not all(name in row for name in OF_GAMES):
        return (row,)
    rest = {name: value for name, value in row.items() if name not in OF_GAMES}
    one, other = row["model_1"], row["model_2"]
    return (
        {**rest, "model_a": one, "model_b": other, "winner": _said(row["g1_winner"], SIDES)},
        {**rest, "model_a": other, "model_b": one, "winner": _said(row["g2_winner"], TURNED)},
    )


def _said(winner: Any, sides: Mapping[str, str]) -> Any:
    return sides.get(winner, winner) if isinstance(winner, str) else winner
