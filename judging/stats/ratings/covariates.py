"""Ratings beside what else may decide a comparison: standing first, being longer.

A logistic regression of the outcome, ties halved, on who met whom and on those columns; its covariance is clustered by
prompt. Agresti's home advantage is `position`; the arena's style control is `length`. Whether length is a fault or a
merit is not for it to say: both columns are shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judging.stats.ratings.connectivity import NoEstimate, connectivity
from judging.stats.ratings.counts import counts
from judging.stats.ratings.intervals import standard_errors
from judging.stats.ratings.logistic import Regression, regress
from judging.stats.ratings.reasons import ALL_ALIKE, NOT_SAID
from judging.stats.votes import Floats, Votes

POSITION = "position"


@dataclass(frozen=True)
class Effect:
    """In nats: what standing first is worth, or one standard deviation of a feature.

    error: its standard error; naive: what that would be if votes on one prompt were independent.
    """

    value: float
    error: float
    naive: float


@dataclass(frozen=True)
class Adjusted:
    """theta: float64[n], nats, mean 0, with the effects taken out. covariance: float64[n, n], nats². votes: how many
    it is made of; left_out: how many did not say what a control asks for."""

    theta: Floats
    covariance: Floats
    effects: dict[str, Effect]
    votes: int
    left_out: int


def adjusted(votes: Votes, controls: Sequence[str]) -> Adjusted:
    """Strengths with `controls` (position, or features of the votes) beside them.

    A feature is divided by its standard deviation and not centred: answers that are alike have no advantage. Raises
    NoEstimate where a control says nothing or decides everything, or no ratings exist; ValueError for an unknown one.
    """
    if unknown := [name for name in controls if name != POSITION and name not in votes.features]:
        known = ", ".join((POSITION, *votes.features))
        raise ValueError(f"there is no control {', '.join(unknown)}; there are {known}")
    counted = votes.counted
    columns = np.array([_column(counted, name) for name in controls]).reshape(len(controls), len(counted)).T
    said = np.isfinite(columns).all(axis=1)
    used, columns = counted.where(said), columns[said]
    if not len(used):
        raise NoEstimate(NOT_SAID)
    found = connectivity(counts(used))
    if not found.holds:
        raise NoEstimate(" ".join(found.sentences(votes.contestants)))
    columns = columns / _scales(columns, controls)
    n = len(votes.contestants)
    fitted = regress(np.hstack([_design(used, n), columns]), used.score, used.weight, used.prompt)
    return _adjusted(fitted, n, controls, len(used), len(counted) - len(used))


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
    """1 for a, -1 for b; the last contestant is what the others are held against. float64[votes, n - 1]."""
    design, rows = np.zeros((len(votes), n)), np.arange(len(votes))
    design[rows, votes.a] += 1
    design[rows, votes.b] -= 1
    return design[:, :-1]


def _adjusted(fitted: Regression, n: int, controls: Sequence[str], used: int, left_out: int) -> Adjusted:
    centre = (np.eye(n) - 1 / n)[:, :-1]
    columns = zip(fitted.beta, standard_errors(fitted.covariance), standard_errors(fitted.naive), strict=True)
    effects = {name: Effect(*map(float, own)) for name, own in zip(controls, list(columns)[n - 1 :], strict=True)}
    covariance = centre @ fitted.covariance[: n - 1, : n - 1] @ centre.T
    return Adjusted(centre @ fitted.beta[: n - 1], covariance, effects, used, left_out)
