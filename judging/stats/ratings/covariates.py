"""Ratings with controls for other causes of an outcome: first position and length.

A logistic regression of the outcome, with ties as half wins, on the contestants and the controls; its covariance is
clustered by prompt. Agresti's home advantage is `position`; the arena's style control is `length`. The method does not
decide whether length is a fault or a merit, so pages show both columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judging.stats.ratings.connectivity import NoEstimate, check_connectivity
from judging.stats.ratings.counts import pair_counts
from judging.stats.ratings.intervals import standard_errors
from judging.stats.ratings.logistic import Regression, regress
from judging.stats.ratings.reasons import ALL_ALIKE, NO_CONTROL_VALUES
from judging.stats.votes import Floats, Votes

POSITION = "position"


@dataclass(frozen=True)
class Effect:
    """Effect in nats of the first position, or of one standard deviation of a feature.

    error: its standard error; naive: the standard error if votes on one prompt were independent.
    """

    value: float
    error: float
    naive: float


@dataclass(frozen=True)
class ControlledRatings:
    """Ratings with the effects of the controls removed.

    theta: float64[n], nats, mean 0. covariance: float64[n, n], nats². votes: the number of votes used; left_out: the
    number of votes without a value for some control. freedom: degrees of freedom of Student's t, the number of prompts
    less one.
    """

    theta: Floats
    covariance: Floats
    effects: dict[str, Effect]
    votes: int
    left_out: int
    freedom: int


def controlled_ratings(votes: Votes, controls: Sequence[str]) -> ControlledRatings:
    """Fit strengths together with `controls` (position, or features of the votes).

    A feature is divided by its standard deviation and not centred, because equal responses have no advantage. Raise
    NoEstimate if a control explains nothing or decides everything, or if no ratings exist; ValueError if a control is
    unknown.
    """
    if unknown := [name for name in controls if name != POSITION and name not in votes.features]:
        available = ", ".join((POSITION, *votes.features))
        raise ValueError(f"unknown control {', '.join(unknown)}; known are {available}")
    counted = votes.counted
    columns = np.array([_column(counted, name) for name in controls]).reshape(len(controls), len(counted)).T
    has_values = np.isfinite(columns).all(axis=1)
    used, columns = counted.select(has_values), columns[has_values]
    if not len(used):
        raise NoEstimate(NO_CONTROL_VALUES)
    connected = check_connectivity(pair_counts(used))
    if not connected.is_connected:
        raise NoEstimate(" ".join(connected.sentences(votes.contestants)))
    columns = columns / _scales(columns, controls)
    n = len(votes.contestants)
    fitted = regress(np.hstack([_design(used, n), columns]), used.score, used.weight, used.prompt)
    freedom = len(np.unique(used.prompt)) - 1
    return _controlled_ratings(fitted, n, controls, len(used), len(counted) - len(used), freedom)


def _column(votes: Votes, name: str) -> Floats:
    if name == POSITION:
        return np.where(votes.shown_first == 0, np.nan, votes.shown_first)
    return votes.features[name]


def _scales(columns: Floats, controls: Sequence[str]) -> Floats:
    spread = columns.std(axis=0)
    for name, column, own in zip(controls, columns.T, spread, strict=True):
        if not column.any() or (name != POSITION and own == 0):
            raise NoEstimate(ALL_ALIKE.format(name=name))
    return np.where([name == POSITION for name in controls], 1.0, spread)


def _design(votes: Votes, n: int) -> Floats:
    """Return 1 for a, -1 for b; the last contestant is the reference. float64[votes, n - 1]."""
    design, rows = np.zeros((len(votes), n)), np.arange(len(votes))
    design[rows, votes.a] += 1
    design[rows, votes.b] -= 1
    return design[:, :-1]


def _controlled_ratings(
    fitted: Regression, n: int, controls: Sequence[str], used: int, left_out: int, freedom: int
) -> ControlledRatings:
    centre = (np.eye(n) - 1 / n)[:, :-1]
    columns = zip(fitted.beta, standard_errors(fitted.covariance), standard_errors(fitted.naive), strict=True)
    effects = {name: Effect(*map(float, own)) for name, own in zip(controls, list(columns)[n - 1 :], strict=True)}
    covariance = centre @ fitted.covariance[: n - 1, : n - 1] @ centre.T
    return ControlledRatings(centre @ fitted.beta[: n - 1], covariance, effects, used, left_out, freedom)
