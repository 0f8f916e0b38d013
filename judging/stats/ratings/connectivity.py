"""Whether a rating exists, and whose not: strengths are finite just where everybody can be reached from everybody
along "won against, or tied with" (Ford, 1957). Where they are not, it is said who is why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judging.stats.ratings.counts import Counts
from judging.stats.ratings.reasons import UNBEATEN, UNCONNECTED, UNSEEN, WINLESS, WITHIN
from judging.stats.votes import Bools, Ints


class NoEstimate(ValueError):
    """There is no finite number to give. The message says why."""


@dataclass(frozen=True)
class Connectivity:
    """Of contestants by their numbers.

    groups: those within each of which ratings exist, the better ones first where votes say so. unconnected: sets
    between which there was no comparison at all, of those who were compared; one set where all is well.
    unbeaten: never lost or tied; winless: never won or tied; unseen: never compared.
    """

    groups: tuple[tuple[int, ...], ...]
    unconnected: tuple[tuple[int, ...], ...]
    unbeaten: tuple[int, ...]
    winless: tuple[int, ...]
    unseen: tuple[int, ...]

    @property
    def holds(self) -> bool:
        """All can be rated on one scale."""
        return len(self.groups) == 1

    def sentences(self, names: Sequence[str]) -> tuple[str, ...]:
        """What is wrong, in plain words; nothing where all is well."""
        alone = ((UNSEEN, self.unseen), (UNBEATEN, self.unbeaten), (WINLESS, self.winless))
        said = [sentence.format(who=names[k]) for sentence, whose in alone for k in whose]
        if len(self.unconnected) > 1:
            said.append(UNCONNECTED.format(sets=_sets_of(names, self.unconnected)))
        rated = [group for group in self.groups if len(group) > 1]
        if rated and not self.holds:
            said.append(WITHIN.format(sets=_sets_of(names, rated)))
        return tuple(said)


def strongly_connected(counts: Counts) -> Bools:
    """Whether all reach all, for each resample. bool[...]; False where there are none."""
    reached = _reached(counts.scores > 0)
    return np.asarray(reached.all(axis=(-1, -2)) & (reached.shape[-1] > 0))


def bounds_ties(counts: Counts) -> Bools:
    """Whether Davidson's ν is finite where all reach all and somebody tied. bool[...].

    It runs away, and the strengths with it, just where strengths exist that part every winner from the loser by at
    least 2 and all who tied by at most 2. They do unless some circle of comparisons has more wins than ties; the circle
    with most is looked for as Floyd and Warshall do.
    """
    most, n = np.where(counts.ties > 0, -1.0, -np.inf), counts.wins.shape[-1]
    most[counts.wins > 0] = 1
    for via in range(n):
        most = np.maximum(most, np.minimum(most[..., :, via, None] + most[..., None, via, :], n))
    return np.asarray((np.diagonal(most, axis1=-2, axis2=-1) > 0).any(axis=-1))


def connectivity(counts: Counts) -> Connectivity:
    """Of one table of counts, float64[n, n]."""
    above, met = counts.scores > 0, counts.games > 0
    reached, seen = _reached(above), np.asarray(met.any(axis=1))
    lost = above.any(axis=0)
    return Connectivity(
        _sets(reached & reached.T, order=-reached.sum(axis=1)),
        tuple(group for group in _sets(_reached(met)) if seen[group[0]]),
        tuple(np.flatnonzero(seen & ~lost).tolist()),
        tuple(np.flatnonzero(seen & ~above.any(axis=1)).tolist()),
        tuple(np.flatnonzero(~seen).tolist()),
    )


def _reached(edges: Bools) -> Bools:
    """The transitive closure, by squaring; everybody reaches themselves. bool[..., n, n]."""
    n = edges.shape[-1]
    paths = (edges | np.eye(n, dtype=bool)).astype(np.float32)
    length = 1
    while length < n:
        paths = np.minimum(paths @ paths, 1)
        length *= 2
    return np.asarray(paths > 0)


def _sets(equivalent: Bools, order: Ints | None = None) -> tuple[tuple[int, ...], ...]:
    """The classes of an equivalence, in `order` of their members, else of their first one."""
    sets = list(dict.fromkeys(tuple(np.flatnonzero(row).tolist()) for row in equivalent))
    return tuple(sets if order is None else sorted(sets, key=lambda group: int(order[group[0]])))


def _sets_of(names: Sequence[str], groups: Sequence[Sequence[int]]) -> str:
    return "; ".join(", ".join(names[k] for k in group) for group in groups)
