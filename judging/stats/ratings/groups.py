"""Rate the contestants of a group on one scale: strengths, resamples, and all that is computed from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judging.stats.ratings.bootstrap import MIN_CLUSTERS, UNITS, Draws, bootstrap
from judging.stats.ratings.connectivity import NoEstimate
from judging.stats.ratings.counts import pair_counts
from judging.stats.ratings.intervals import Interval, rank_intervals, rank_probabilities
from judging.stats.ratings.maximum_likelihood import Fit, fit
from judging.stats.ratings.options import RatingOptions
from judging.stats.ratings.reasons import FEW_CLUSTERS, LEFT_OUT, NO_INTERVALS, ONE_CLUSTER, UNBOUNDED
from judging.stats.ratings.sandwich import StrengthErrors, strength_errors
from judging.stats.ratings.scale import ELO_PER_NAT, anchor_ratings, centre_ratings, rating_differences
from judging.stats.votes import Floats, Ints, Votes


@dataclass(frozen=True)
class GroupRatings:
    """Ratings of the n contestants of a group, on the Elo scale; `fit` and `draws` are in nats.

    members: the contestants' numbers on the board. centred: ratings with their mean at init. anchored: ratings with the
    anchor at init, None if the group has no anchor. difference: float64[n, n], row over column. error: float64[n],
    standard errors of centred (`sandwich.py`), from which all intervals follow. ranks: P[i, r] for rank r + 1, the
    share of resamples. rank_range: the ranks that the intervals of differences leave open. Errors, intervals, ranks and
    rank_range are None if votes do not tell how sure the ratings are.
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
    draws, errors, sentences = _uncertainty(own, fitted, options)
    centred, difference = centre_ratings(fitted.theta, options.init), rating_differences(fitted.theta)
    anchored = None if local is None else anchor_ratings(fitted.theta, local, options.init)
    of_centred, of_anchored, of_difference = _errors_in_elo(errors, local) if errors else (None, None, None)

    def interval(value: Floats | None, error: Floats | None) -> Interval | None:
        return (
            None if errors is None or value is None or error is None else errors.interval(value, error, options.level)
        )

    apart = interval(difference, of_difference)
    return GroupRatings(
        members, fitted, draws, centred, interval(centred, of_centred), of_centred, anchored,
        interval(anchored, of_anchored), difference, apart, None if draws is None else rank_probabilities(draws.theta),
        None if apart is None else rank_intervals(*apart), sentences,
    )  # fmt: skip


def _errors_in_elo(errors: StrengthErrors, anchor: int | None) -> tuple[Floats, Floats | None, Floats]:
    """Return the errors of centred ratings, of anchored ones (None without an anchor), and of differences."""
    centred, difference = ELO_PER_NAT * errors.centred, ELO_PER_NAT * errors.difference
    return centred, None if anchor is None else difference[:, anchor], difference


def _uncertainty(
    votes: Votes, fitted: Fit, options: RatingOptions
) -> tuple[Draws | None, StrengthErrors | None, tuple[str, ...]]:
    """Return resamples for ranks and errors for intervals, or None for both, and the sentences that a reader must know
    about them."""
    resampling, units = options.resampling, UNITS[options.resampling.unit]
    draws = bootstrap(votes, resampling, options.ties, options.prior)
    if draws.clusters < 2:
        return None, None, (ONE_CLUSTER.format(units=units),)
    sentences = []
    if draws.clusters < MIN_CLUSTERS:
        sentences.append(FEW_CLUSTERS.format(clusters=draws.clusters, units=units, few=MIN_CLUSTERS))
    # A resample without ratings is beyond any bound; if there are too many of these, the interval has no bounds.
    beyond = draws.failed / resampling.resamples > (1 - options.level) / 2
    counted = {"failed": draws.failed, "all": resampling.resamples}
    errors = None if beyond else strength_errors(votes, fitted, resampling.unit, options.ties, options.prior)
    if errors is None:
        return None, None, (NO_INTERVALS.format(**counted, level=f"{options.level:.0%}"),)
    return draws, errors, (*sentences, *([LEFT_OUT.format(**counted)] if draws.failed else []))


def group_order(rated: GroupRatings) -> list[int]:
    """Return the positions within the group, the best first; equal strengths are in the order of members."""
    return [int(k) for k in np.argsort(-rated.fit.theta.round(9), kind="stable")]
