"""Logistic regression with outcomes between 0 and 1, and a covariance that is clustered by groups of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judging.stats.ratings.connectivity import NoEstimate
from judging.stats.ratings.counts import sum_at
from judging.stats.ratings.reasons import FOLLOWS, NO_FINITE, TOO_FEW
from judging.stats.votes import Floats, Ints

MAX_STEPS = 100
TOLERANCE = 1e-11
MAX_STEP_WIDTH = 1.5
MAX_LOG_ODDS = 30.0
"""If a row's odds reach e^30, the search diverges."""


@dataclass(frozen=True)
class Regression:
    """Result of a regression.

    beta: float64[k]. covariance: float64[k, k], clustered; naive: float64[k, k], for independent rows.
    """

    beta: Floats
    covariance: Floats
    naive: Floats


def regress(x: Floats, y: Floats, weight: Floats, cluster: Ints) -> Regression:
    """Fit a logistic regression.

    x: float64[rows, k]. y: float64[rows] in [0, 1]. weight: float64[rows]. cluster: int64[rows]. The covariance
    includes the correction C / (C - 1) · (N - 1) / (N - K). Raise NoEstimate if a column follows from the others, if
    columns separate all outcomes, or with fewer than two clusters or no more rows than columns.
    """
    rows, width = x.shape
    if np.linalg.matrix_rank(x) < width:
        raise NoEstimate(FOLLOWS)
    names, cluster = np.unique(cluster, return_inverse=True)
    if len(names) < 2 or rows <= width:
        raise NoEstimate(TOO_FEW.format(votes=rows, clusters=len(names), effects=width))
    beta = _newton(x, y, weight)
    chance = _chance(x @ beta)
    inverse = np.asarray(np.linalg.inv(_curve(x, chance, weight)), np.float64)
    residual = (weight * (y - chance))[:, None] * x
    at = cluster.reshape(-1, 1) * width + np.arange(width)
    slopes = sum_at(at, residual, len(names) * width).reshape(len(names), width)
    correction = len(names) / (len(names) - 1) * (rows - 1) / (rows - width)
    return Regression(beta, correction * inverse @ (slopes.T @ slopes) @ inverse, inverse)


def _newton(x: Floats, y: Floats, weight: Floats) -> Floats:
    beta = np.zeros(x.shape[1])
    for _ in range(MAX_STEPS):
        chance = _chance(x @ beta)
        step = np.linalg.solve(_curve(x, chance, weight), x.T @ (weight * (y - chance)))
        # As in `maximum_likelihood.py`, a step this short never overshoots.
        step /= max(float(abs(x @ step).max()) / MAX_STEP_WIDTH, 1.0)
        beta += step
        if float(abs(x @ beta).max()) > MAX_LOG_ODDS:
            break
        if float(abs(step).max()) < TOLERANCE:
            return beta
    raise NoEstimate(NO_FINITE)


def _chance(eta: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-eta)))


def _curve(x: Floats, chance: Floats, weight: Floats) -> Floats:
    return np.asarray((x * (weight * chance * (1 - chance))[:, None]).T @ x)
