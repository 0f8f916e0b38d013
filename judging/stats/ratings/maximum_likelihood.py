"""Maximum-likelihood log-strengths from counts, for many resamples in one call: Bradley-Terry, and Davidson for ties.

With strengths π and d = θi - θj, Davidson (1970) says P(i wins) ∝ e^(d/2), P(j wins) ∝ e^(-d/2), P(tie) ∝ ν.
Without ties (ν = 0) it is Bradley and Terry's (1952). It is an exponential family, concave in θ and log ν. A Newton
step is shortened if it would separate two strengths by more than 1.5: up to there descent is certain (Bach 2010,
"Self-concordant analysis for logistic regression").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from judging.stats.ratings.connectivity import are_strongly_connected, are_ties_bounded
from judging.stats.ratings.counts import Counts
from judging.stats.votes import Bools, Floats

MAX_STEPS = 200
TOLERANCE = 1e-11
MAX_STEP_WIDTH = 1.5
TIES = ("half-win", "davidson")


@dataclass(frozen=True)
class Fit:
    """Fitted strengths.

    theta: float64[..., n], nats, mean 0. nu: float64[...], 0 if ties count as half a win for each. Both are NaN if no
    such strengths exist or the search did not converge: `failed`, bool[...].
    """

    theta: Floats
    nu: Floats

    @property
    def failed(self) -> Bools:
        return np.asarray(np.isnan(self.theta).any(axis=-1) | np.isnan(self.nu))


def fit(counts: Counts, ties: str = "half-win", prior: float = 0.0) -> Fit:
    """Return the strengths of highest likelihood for each entry of the leading axes.

    ties: half-win, or davidson, which needs both ties and wins. prior: wins added each way to every pair that met;
    reports must state it if it is not 0. Raise ValueError for any other `ties`.
    """
    if ties not in TIES:
        raise ValueError(f"ties must be one of {', '.join(TIES)}, not {ties!r}")
    counts = add_prior(counts, prior)
    if ties == "half-win":
        counts = Counts(counts.scores, np.zeros_like(counts.ties))
    lead, n = counts.wins.shape[:-2], counts.wins.shape[-1]
    flat = Counts(counts.wins.reshape(-1, n, n), counts.ties.reshape(-1, n, n))
    theta, nu = np.full((len(flat.wins), n), np.nan), np.full(len(flat.wins), np.nan)
    # Without ties, Davidson's ν is 0, as with half-wins.
    tied = flat.ties.any(axis=(-1, -2))
    sound = are_strongly_connected(flat)
    sound[tied] &= are_ties_bounded(Counts(flat.wins[tied], flat.ties[tied]))
    for has_ties in (False, True):
        selected = np.flatnonzero(sound & (tied == has_ties))
        theta[selected], nu[selected] = _newton(Counts(flat.wins[selected], flat.ties[selected]), has_ties)
    return Fit(theta.reshape(*lead, n), nu.reshape(lead))


def newton_step(counts: Counts, fitted: Fit, ties: str = "half-win") -> Floats:
    """Return the Newton step of strengths from one fit towards those of other counts. float64[k, n], mean 0.

    counts: wins and ties, float64[k, n, n], with any prior. NaN where these counts have no finite strengths.
    """
    has_ties = ties != "half-win" and bool(fitted.nu > 0)
    if not has_ties:
        counts = Counts(counts.scores, np.zeros_like(counts.ties))
    # All steps start at the same strengths, whose chances are computed once.
    theta, log_nu = fitted.theta[None], np.log(fitted.nu)[None] if has_ties else np.full(1, -np.inf)
    sound = are_strongly_connected(counts)
    steps = np.full(counts.wins.shape[:-1], np.nan)
    steps[sound] = _step(Counts(counts.wins[sound], counts.ties[sound]), theta, log_nu, has_ties)[:, : theta.shape[1]]
    return steps


def add_prior(counts: Counts, prior: float) -> Counts:
    """Add `prior` wins each way to each pair that met. Other pairs get none, because that would connect them falsely.

    Raise ValueError if `prior` is negative or not finite.
    """
    if prior < 0 or not np.isfinite(prior):
        raise ValueError(f"prior must be 0 or more wins each way, not {prior}")
    return Counts(counts.wins + prior * (counts.games > 0), counts.ties) if prior else counts


def gradient(counts: Counts, theta: Floats, nu: Floats) -> Floats:
    """Return the gradient of the log-likelihood by each strength. float64[..., n]."""
    win, _ = _chances(theta, nu)
    mean = (win - np.swapaxes(win, -1, -2)) / 2
    return np.asarray(((counts.wins - np.swapaxes(counts.wins, -1, -2)) / 2 - counts.games * mean).sum(axis=-1))


def information(counts: Counts, theta: Floats, nu: Floats) -> Floats:
    """Return minus the second derivatives by the strengths: float64[..., n, n], singular along a shift of all."""
    win, _ = _chances(theta, nu)
    back = np.swapaxes(win, -1, -2)
    spread = counts.games * ((win + back) / 4 - ((win - back) / 2) ** 2)
    return np.asarray(spread.sum(axis=-1)[..., None] * np.eye(theta.shape[-1]) - spread)


def _newton(counts: Counts, has_ties: bool) -> tuple[Floats, Floats]:
    """Return (theta, nu) of resamples with finite strengths; NaN if the search did not converge."""
    size, n = counts.wins.shape[0], counts.wins.shape[-1]
    theta, log_nu = np.zeros((size, n)), np.full(size, 0.0 if has_ties else -np.inf)
    open_ = np.arange(size)
    for _ in range(MAX_STEPS):
        if not open_.size:
            break
        step = _step(Counts(counts.wins[open_], counts.ties[open_]), theta[open_], log_nu[open_], has_ties)
        widest = np.ptp(step[:, :n], axis=1) + (2 * abs(step[:, n]) if has_ties else 0)
        step /= np.maximum(widest / MAX_STEP_WIDTH, 1)[:, None]
        theta[open_] += step[:, :n]
        if has_ties:
            log_nu[open_] += step[:, n]
        open_ = open_[abs(step).max(axis=1) > TOLERANCE]
    theta[open_] = log_nu[open_] = np.nan
    return theta - theta.mean(axis=1, keepdims=True), np.exp(log_nu)


def _step(counts: Counts, theta: Floats, log_nu: Floats, has_ties: bool) -> Floats:
    """Return the Newton step from strengths of each resample, or from one for all. float64[resamples, n], or n + 1 with
    log ν last."""
    nu, n = np.exp(log_nu), theta.shape[-1]
    slope, curve = gradient(counts, theta, nu), information(counts, theta, nu)
    # The mean is pinned by a curvature along the shift of all, which no vote has.
    curve += np.maximum(curve.trace(axis1=1, axis2=2), 1)[:, None, None] / n**2
    if has_ties:
        win, tie = _chances(theta, nu)
        games = counts.games / 2
        own = (counts.ties / 2 - games * tie).sum(axis=(1, 2))
        cross = -(counts.games * tie * (win - np.swapaxes(win, 1, 2)) / 2).sum(axis=2)
        last = (games * tie * (1 - tie)).sum(axis=(1, 2))
        slope = np.concatenate([slope, own[:, None]], axis=1)
        curve = np.block([[curve, cross[:, :, None]], [cross[:, None, :], last[:, None, None]]])
    return np.asarray(np.linalg.solve(curve, slope[:, :, None])[:, :, 0])


def _chances(theta: Floats, nu: Floats) -> tuple[Floats, Floats]:
    """Return the probabilities (i wins against j, they tie): float64[..., n, n]. Safe for very different strengths."""
    half = (theta[..., :, None] - theta[..., None, :]) / 2
    near = np.exp(-abs(half))
    behind, tie = near**2, np.asarray(nu)[..., None, None] * near
    total = 1 + behind + tie
    return np.where(half >= 0, 1, behind) / total, tie / total
