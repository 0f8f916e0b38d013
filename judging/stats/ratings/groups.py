"""Rate the contestants of a group on one scale: strengths, resamples, and all that is computed from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judging.stats.ratings.bootstrap import FEW, UNITS, Draws, bootstrap
from judging.stats.ratings.connectivity import NoEstimate
from judging.stats.ratings.counts import counts
from judging.stats.ratings.intervals import Interval, percentile, rank_intervals, rank_probabilities, standard_errors
from judging.stats.ratings.maximum_likelihood import Fit, fit
from judging.stats.ratings.options import RatingOptions
from judging.stats.ratings.reasons import FEW_CLUSTERS, LEFT_OUT, NO_INTERVALS, ONE_CLUSTER, UNBOUNDED
from judging.stats.ratings.sandwich import sandwich
from judging.stats.ratings.scale import ELO_PER_NAT, anchored, centred, differences
from judging.stats.votes import Floats, Ints, Votes


@dataclass(frozen=True)
class Rated:
    """Ratings of the n contestants of a group, on the Elo scale; `fit` and `draws` are in nats.

    members: the contestants' numbers on the board. centred: ratings with their mean at init. anchored: ratings with the
    anchor at init, None if the group has no anchor. difference: float64[n, n], row over column. error: float64[n],
    standard errors of centred by the sandwich formula; None if the formula does not hold (`sandwich.py`). Intervals,
    ranks (P[i, r] for rank r + 1) and rank_range are None if no resamples can be used.
    """

    members: tuple[int, ...]
    fit: Fit
    draws: Draws | None
    centred: Floats
    centred_interval: Interval | None
    error: Floats | None
    anchored: Floats | None
    anchored_interval: Interval | None
    difference: Floats
    difference_interval: Interval | None
    ranks: Floats | None
    rank_range: Ints | None
    sentences: tuple[str, ...]


def rate(votes: Votes, members: tuple[int, ...], asked: RatingOptions) -> Rated:
    """Rate a group by the votes among its members. Raise NoEstimate if they have no ratings."""
    own = votes.among(members)
    found = fit(counts(own), asked.ties, asked.prior)
    if found.failed:
        raise NoEstimate(UNBOUNDED.format(names=", ".join(own.contestants), ties=asked.ties))
    anchor = asked.anchor_in(votes.contestants)
    local = members.index(anchor) if anchor in members else None
    draws, said = _drawn(own, asked)
    theta = None if draws is None else draws.theta

    def of(draws: Floats | None) -> Interval | None:
        return None if draws is None else percentile(draws, asked.level)

    whole = of(None if theta is None else centred(theta, asked.init))
    return Rated(
        members, found, draws, centred(found.theta, asked.init), whole, _errors(own, found, asked),
        None if local is None else anchored(found.theta, local, asked.init),
        None if local is None or theta is None else of(anchored(theta, local, asked.init)),
        differences(found.theta), None if theta is None else _differences(theta, asked.level),
        None if theta is None else rank_probabilities(theta),
        None if whole is None else rank_intervals(whole.low, whole.high), said,
    )  # fmt: skip


def _drawn(votes: Votes, asked: RatingOptions) -> tuple[Draws | None, tuple[str, ...]]:
    """Return resamples that can carry intervals, or None, and the sentences that a reader must know about them."""
    how, units = asked.resampling, UNITS[asked.resampling.unit]
    draws = bootstrap(votes, how, asked.ties, asked.prior)
    if draws.clusters < 2:
        return None, (ONE_CLUSTER.format(units=units),)
    said = []
    if draws.clusters < FEW:
        said.append(FEW_CLUSTERS.format(clusters=draws.clusters, units=units, few=FEW))
    if not draws.failed:
        return draws, tuple(said)
    # A resample without ratings lies beyond any bound; where too many do, so does the interval.
    beyond = draws.failed / how.resamples > (1 - asked.level) / 2
    counted = {"failed": draws.failed, "all": how.resamples}
    if beyond:
        return None, (NO_INTERVALS.format(**counted, level=f"{asked.level:.0%}"),)
    return draws, (*said, LEFT_OUT.format(**counted))


def _differences(theta: Floats, level: float) -> Interval:
    """Compute the intervals of all pairwise differences, row by row.

    All at once would be resamples × n² numbers.
    """
    rows = [percentile(ELO_PER_NAT * (theta[:, k, None] - theta), level) for k in range(theta.shape[1])]
    return Interval(np.array([row.low for row in rows]), np.array([row.high for row in rows]))


def _errors(votes: Votes, found: Fit, asked: RatingOptions) -> Floats | None:
    unit = asked.resampling.unit
    if asked.ties != "half-win" or asked.prior or unit == "both":
        return None
    cluster = {"prompt": votes.prompt, "annotator": votes.annotator}.get(unit, np.arange(len(votes)))
    try:
        return ELO_PER_NAT * standard_errors(sandwich(votes, found, cluster).matrix)
    except NoEstimate:
        return None


def order(rated: Rated) -> list[int]:
    """Return the places within the group, the best first; equal strengths are in the order of members."""
    return [int(k) for k in np.argsort(-rated.fit.theta.round(9), kind="stable")]
