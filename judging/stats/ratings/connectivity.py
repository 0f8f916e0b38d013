"""Decide whether ratings exist, and name the contestants without one.

Strengths are finite if and only if each contestant can be reached from each other one along "won against, or tied with"
(Ford, 1957). If they are not, sentences name the contestants that cause it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judging.stats.ratings.counts import Counts
from judging.stats.ratings.reasons import UNBEATEN, UNCONNECTED, UNSEEN, WINLESS, WITHIN
from judging.stats.votes import Bools, Ints


class NoEstimate(ValueError):
    """Error: no finite estimate exists. The message gives the reason."""


@dataclass(frozen=True)
class Connectivity:
    """Connected groups of contestants, given by their numbers.

    groups: sets of contestants within which ratings exist, the better ones first if votes decide that. unconnected:
    sets of compared contestants without any comparison between the sets; one set if all are connected.
    unbeaten: never lost or tied; winless: never won or tied; unseen: never compared.
    """

    groups: tuple[tuple[int, ...], ...]
    unconnected: tuple[tuple[int, ...], ...]
    unbeaten: tuple[int, ...]
    winless: tuple[int, ...]
    unseen: tuple[int, ...]

    @property
    def is_connected(self) -> bool:
        """Return whether all contestants can be rated on one scale."""
        return len(self.groups) == 1

    def sentences(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the problems as sentences; nothing if there are none."""
        alone = ((UNSEEN, self.unseen), (UNBEATEN, self.unbeaten), (WINLESS, self.winless))
        sentences = [sentence.format(who=names[k]) for sentence, members in alone for k in members]
        if len(self.unconnected) > 1:
            sentences.append(UNCONNECTED.format(sets=_format_sets(names, self.unconnected)))
        rated = [group for group in self.groups if len(group) > 1]
        if rated and not self.is_connected:
            sentences.append(WITHIN.format(sets=_format_sets(names, rated)))
        return tuple(sentences)


def are_strongly_connected(counts: Counts) -> Bools:
    """Return for each resample whether all contestants reach all. bool[...]; False if there are no contestants."""
    reached = _reachable(counts.scores > 0)
    return np.asarray(reached.all(axis=(-1, -2)) & (reached.shape[-1] > 0))


def are_ties_bounded(counts: Counts) -> Bools:
    """Return whether Davidson's ν is finite, if all contestants reach all and some pair tied. bool[...].

    ν and the strengths diverge if and only if strengths exist that separate every winner from the loser by at least 2
    and every tied pair by at most 2. Such strengths exist unless some cycle of comparisons has more wins than ties. The
    cycle with the most is found with the method of Floyd and Warshall.
    """
    widest, n = np.where(counts.ties > 0, -1.0, -np.inf), counts.wins.shape[-1]
    widest[counts.wins > 0] = 1
    for via in range(n):
        widest = np.maximum(widest, np.minimum(widest[..., :, via, None] + widest[..., None, via, :], n))
    return np.asarray((np.diagonal(widest, axis1=-2, axis2=-1) > 0).any(axis=-1))


def check_connectivity(counts: Counts) -> Connectivity:
    """Return the connected groups of one table of counts, float64[n, n]."""
    above, met = counts.scores > 0, counts.games > 0
    reached, seen = _reachable(above), np.asarray(met.any(axis=1))
    lost = above.any(axis=0)
    return Connectivity(
        _equivalence_classes(reached & reached.T, order=-reached.sum(axis=1)),
        tuple(group for group in _equivalence_classes(_reachable(met)) if seen[group[0]]),
        tuple(np.flatnonzero(seen & ~lost).tolist()),
        tuple(np.flatnonzero(seen & ~above.any(axis=1)).tolist()),
        tuple(np.flatnonzero(~seen).tolist()),
    )


def _reachable(edges: Bools) -> Bools:
    """Return the transitive closure, by squaring; each contestant reaches itself. bool[..., n, n]."""
    n = edges.shape[-1]
    paths = (edges | np.eye(n, dtype=bool)).astype(np.float32)
    length = 1
    while length < n:
        paths = np.minimum(paths @ paths, 1)
        length *= 2
    return np.asarray(paths > 0)


def _equivalence_classes(equivalent: Bools, order: Ints | None = None) -> tuple[tuple[int, ...], ...]:
    """Return the classes of an equivalence, sorted by `order` of their first member, else by the first member."""
    sets = list(dict.fromkeys(tuple(np.flatnonzero(row).tolist()) for row in equivalent))
    return tuple(sets if order is None else sorted(sets, key=lambda group: int(order[group[0]])))


def _format_sets(names: Sequence[str], groups: Sequence[Sequence[int]]) -> str:
    return "; ".join(", ".join(names[k] for k in group) for group in groups)
