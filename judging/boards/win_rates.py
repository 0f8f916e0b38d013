"""Win rates of the contestants of a stored board. They are shown for a contestant whose votes give no rating."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from judging.boards.format import WIN_RATES, BoardData, format_percent
from judging.stats.ratings import wilson_interval
from runs.tables import Interval, count


@dataclass(frozen=True)
class WinRate(Interval):
    """Share of a contestant's votes that it won, with ties as half wins: from 0 to 1, with Wilson's interval.

    The interval takes each vote as independent, even if several are on one prompt. n: the weighted number of votes.
    """

    value: float
    low: float
    high: float
    n: float

    @property
    def text(self) -> str:
        """Return the share in per cent."""
        return format_percent(self.value)

    @property
    def interval_text(self) -> str:
        """Return the two ends of the interval in per cent."""
        return WIN_RATES.interval(self.low, self.high)

    @property
    def n_text(self) -> str:
        """Return the number of votes."""
        return count(self.n)


def win_rate(record: BoardData, level: float) -> WinRate | None:
    """Return the win rate of a contestant with these wins, ties and votes, or None if no vote counts."""
    n = record["votes"]
    if not n:
        return None
    share = (record["wins"] + record["ties"] / 2) / n
    low, high = wilson_interval(np.array(share), np.array(n), level)
    return WinRate(share, max(float(low), 0.0), min(float(high), 1.0), n)


def standing_win_rate(board: BoardData, standing: BoardData) -> WinRate | None:
    """Return the win rate of a row of this board's standings, or None if no vote counts."""
    return win_rate(standing["record"], board["board"]["asked"]["level"])


def has_unrated(board: BoardData) -> bool:
    """Return whether a contestant with votes has no rating."""
    return any(row["rating"] is None and row["record"]["votes"] for row in board["board"]["standings"])


def add_win_rates(board: BoardData) -> dict[str, Any]:
    """Return the board with `win_rates`: for each contestant value, low, high and n, or None without votes."""
    rows = {row["contestant"]: standing_win_rate(board, row) for row in board["board"]["standings"]}
    rates = [rows[name] for name in board["contestants"]]
    return {**board, "win_rates": [rate and asdict(rate) for rate in rates]}
