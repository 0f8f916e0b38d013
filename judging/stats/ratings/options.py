"""Options of a board: everything that its numbers depend on, all of which the board states."""

from __future__ import annotations

from dataclasses import dataclass, field

from judging.stats.ratings.bootstrap import Resampling
from judging.stats.ratings.maximum_likelihood import TIES
from judging.stats.ratings.scale import INIT


@dataclass(frozen=True)
class RatingOptions:
    """Options of a board's ratings.

    ties: half-win or davidson; davidson's strengths are on another scale. anchor: the contestant that is rated `init`;
    if None, the mean is at `init`. prior: wins added each way to pairs that met. level: confidence level of all
    intervals. resampling: its unit is also the one by which standard errors are clustered.
    """

    ties: str = "half-win"
    anchor: str | None = None
    prior: float = 0.0
    level: float = 0.95
    init: float = INIT
    resampling: Resampling = field(default_factory=Resampling)

    def __post_init__(self) -> None:
        if self.ties not in TIES:
            raise ValueError(f"ties must be one of {', '.join(TIES)}, not {self.ties!r}")
        if not 0 < self.level < 1:
            raise ValueError(f"the level must be between 0 and 1, not {self.level}")

    def anchor_in(self, contestants: tuple[str, ...]) -> int | None:
        """Return the anchor's number, or None if there is no anchor.

        Raise ValueError, naming the contestants, if it is not one of them.
        """
        if self.anchor is None:
            return None
        if self.anchor not in contestants:
            raise ValueError(f"the anchor must be one of {', '.join(contestants) or 'none'}, not {self.anchor!r}")
        return contestants.index(self.anchor)
