"""Rate the contestants of a group on one scale: strengths, resamples, and all that is computed from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judging.stats.ratings.bootstrap import MIN_CLUSTERS, UNITS, Draws, bootstrap
from judging.stats.ratings.connectivity import NoEstimate
from judging.stats.ratings.counts import pair_counts
from judging.stats.ratings.intervals import (
    Interval,
    percentile_interval,
    rank_intervals,
    rank_probabilities,
    standard_errors,
)
from judging.stats.ratings.maximum_likelihood import Fit, fit
from judging.stats.ratings.options import RatingOptions
from judging.stats.ratings.reasons import FEW_CLUSTERS, LEFT_OUT, NO_INTERVALS, ONE_CLUSTER, UNBOUNDED
from judging.stats.ratings.sandwich import sandwich_covariance
from judging.stats.ratings.scale import ELO_PER_NAT, anchor_ratings, centre_ratings, rating_differences
from judging.stats.votes import Floats, Ints, Votes


@dataclass(frozen=True)
class GroupRatings:
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


def rate_group(votes: Votes, members: tuple[int, ...], options: RatingOptions) -> GroupRatings:
    """Rate a group by the votes among its members. Raise NoEstimate if they have no ratings."""
    own = votes.between_contestants(members)
    fitted = fit(pair_counts(own), options.ties, options.prior)
    if fitted.failed:
        raise NoEstimate(UNBOUNDED.format(names=", ".join(own.contestants), ties=options.ties))
    anchor = options.anchor_in(votes.contestants)
    local = members.index(anchor) if anchor in members else None
    draws, sentences = _usable_draws(own, options)
    theta = None if draws is None else draws.theta

    def interval_of(draws: Floats | None) -> Interval | None:
        return None if draws is None else percentile_interval(draws, options.level)

    whole = interval_of(None if theta is None else centre_ratings(theta, options.init))
    return GroupRatings(
        members, fitted, draws, centre_ratings(fitted.theta, options.init), whole,
        _sandwich_errors(own, fitted, options),
        None if local is None else anchor_ratings(fitted.theta, local, options.init),
        None if local is None or theta is None else interval_of(anchor_ratings(theta, local, options.init)),
        rating_differences(fitted.theta), None if theta is None else _differences(theta, options.level),
        None if theta is None else rank_probabilities(theta),
        None if whole is None else rank_intervals(whole.low, whole.high), sentences,
    )  # fmt: skip


def _usable_draws(votes: Votes, options: RatingOptions) -> tuple[Draws | None, tuple[str, ...]]:
    """Return resamples that can carry intervals, or None, and the sentences that a reader must know about them."""
    resampling, units = options.resampling, UNITS[options.resampling.unit]
    draws = bootstrap(votes, resampling, options.ties, options.prior)
    if draws.clusters < 2:
        return None, (ONE_CLUSTER.format(units=units),)
    sentences = []
    if draws.clusters < MIN_CLUSTERS:
        sentences.append(FEW_CLUSTERS.format(clusters=draws.clusters, units=units, few=MIN_CLUSTERS))
    if not draws.failed:
        return draws, tuple(sentences)
    # A resample without ratings is beyond any bound; if there are too many of these, the interval has no bounds.
    beyond = draws.failed / resampling.resamples > (1 - options.level) / 2
    counted = {"failed": draws.failed, "all": resampling.resamples}
    if beyond:
        return None, (NO_INTERVALS.format(**counted, level=f"{options.level:.0%}"),)
    return draws, (*sentences, LEFT_OUT.format(**counted))


def _differences(theta: Floats, level: float) -> Interval:
    """Compute the intervals of all pairwise differences, row by row.

    One array of all rows would have resamples × n² numbers.
    """
    rows = [percentile_interval(ELO_PER_NAT * (theta[:, k, None] - theta), level) for k in range(theta.shape[1])]
    return Interval(np.array([row.low for row in rows]), np.array([row.high for row in rows]))


def _sandwich_errors(votes: Votes, fitted: Fit, options: RatingOptions) -> Floats | None:
    unit = options.resampling.unit
    if options.ties != "half-win" or options.prior or unit == "both":
        return None
    cluster = {"prompt": votes.prompt, "annotator": votes.annotator}.get(unit, np.arange(len(votes)))
    try:
        return ELO_PER_NAT * standard_errors(sandwich_covariance(votes, fitted, cluster).matrix)
    except NoEstimate:
        return None


def group_order(rated: GroupRatings) -> list[int]:
    """Return the positions within the group, the best first; equal strengths are in the order of members."""
    return [int(k) for k in np.argsort(-rated.fit.theta.round(9), kind="stable")]
