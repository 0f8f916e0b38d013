"""Simulations of the intervals of judging: ratings, win rates, shares of votes, agreement, effects of position."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from judging.boards.panels.bias import position_panel
from judging.boards.win_rates import win_rate
from judging.stats.agreement.alpha import alpha
from judging.stats.ratings import win_matrix
from judging.stats.ratings.counts import pair_counts
from judging.stats.ratings.intervals import rank_intervals
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.ratings.sandwich import strength_errors
from judging.stats.votes import Outcome, votes_from_arrays
from tests.intervals.claim import Claim, Hits, Rng, Simulation, batch, is_between
from tests.judging.stats.ratings.test_coverage import EVEN, UNEVEN, Population, two_way_votes
from workers.analysis.kappa import cohen_kappa, raw_agreement
from workers.analysis.resampling import Floats, estimate_statistic, share_statistic

LEVEL = 0.95
ITEMS, RESAMPLES = 6, 1000
WHOLE = 100_000
"""Prompts of a simulated population, whose value is the true one."""
SEED_RANGE = 2**31


def ratings(rng: Rng, prompts: int, population: Population, what: str) -> Hits:
    """Return how many intervals of strengths, of differences, or of ranks hold the truth, over 20 boards."""
    true, hits, n = true_strengths(population), 0, 0
    for _ in range(20):
        votes = population.sample(prompts, int(rng.integers(SEED_RANGE)))
        fitted = fit(pair_counts(votes))
        errors = None if fitted.failed else strength_errors(votes, fitted)
        if errors is None:
            continue
        apart = errors.interval(fitted.theta[:, None] - fitted.theta, errors.difference, LEVEL)
        if what == "rank":
            best, worst = rank_intervals(*apart).T
            ranks = np.argsort(np.argsort(-true)) + 1
            held = (best <= ranks) & (ranks <= worst)
        elif what == "difference":
            pairs = np.triu_indices(len(true), 1)
            held = ((apart.low <= true[:, None] - true) & (true[:, None] - true <= apart.high))[pairs]
        else:
            own = errors.interval(fitted.theta, errors.centred, LEVEL)
            held = (own.low <= true) & (true <= own.high)
        # Intervals of one board depend on each other: each board counts once.
        hits, n = hits + int(rng.random() < held.mean()), n + 1
    return hits, n


@cache
def true_strengths(population: Population) -> Floats:
    return population.true_strengths


def two_way(rng: Rng) -> bool | None:
    """The true log odds are those over all tastes and difficulties: 0.3 on average, attenuated by their spread."""
    votes = two_way_votes(int(rng.integers(SEED_RANGE)), 0.5)
    fitted = fit(pair_counts(votes))
    errors = strength_errors(votes, fitted, "both")
    if errors is None:
        return None
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    p = (weights / weights.sum() / (1 + np.exp(-(0.3 + np.sqrt(0.5) * nodes)))).sum()
    apart = errors.interval(fitted.theta[:, None] - fitted.theta, errors.difference, LEVEL)
    return is_between(float(apart.low[0, 1]), float(np.log(p / (1 - p))), float(apart.high[0, 1]))


def wins(rng: Rng, n: int, spread: float) -> bool | None:
    """Win rate of n votes, two on each prompt; with a spread, votes on a prompt depend on each other."""
    p = rng.beta(0.5 / spread, 0.5 / spread, n // 2) if spread else np.full(n // 2, 0.5)
    won = int(rng.binomial(2, p).sum())
    rate = win_rate({"votes": n, "wins": won, "ties": 0}, LEVEL)
    return None if rate is None else is_between(rate.low, 0.5, rate.high)


def cell_of_matrix(rng: Rng, n: int) -> bool | None:
    zeros = np.zeros(n, np.int64)
    outcome = np.where(rng.random(n) < 0.7, Outcome.A, Outcome.B)
    matrix = win_matrix(votes_from_arrays(("ada", "bo"), zeros, zeros + 1, outcome))
    return is_between(float(matrix.interval.low[0, 1]), 0.7, float(matrix.interval.high[0, 1]))


def share_tables(rng: Rng, prompts: int) -> Floats:
    right = rng.binomial(ITEMS, rng.beta(2.0, 1.2, prompts))
    return np.stack([right, np.full(prompts, ITEMS)], axis=1).astype(float)


def label_tables(rng: Rng, prompts: int) -> Floats:
    """Return two raters' labels who each err on some items. float64[prompts, 2, 2]."""
    truth = rng.random((prompts, ITEMS)) < rng.beta(1, 1, prompts)[:, None]
    labels = [
        np.where(rng.random(truth.shape) < error, rng.random(truth.shape) < 0.5, truth).astype(int)
        for error in (0.2, 0.3)
    ]
    met = np.zeros((prompts, 2, 2))
    np.add.at(met, (np.arange(prompts)[:, None], *labels), 1)
    return met


def both_ways(tables: Floats) -> Floats:
    return tables + np.swapaxes(tables, -1, -2)


STATISTICS: dict[str, tuple[Callable[[Rng, int], Floats], Callable[[Floats], Floats]]] = {
    "share": (share_tables, share_statistic),
    "agreement": (label_tables, raw_agreement),
    "kappa": (label_tables, cohen_kappa),
    "alpha": (label_tables, lambda tables: alpha(both_ways(tables), "nominal")),
}


@cache
def true_statistic(kind: str) -> float:
    draw, statistic = STATISTICS[kind]
    return float(statistic(draw(np.random.default_rng(0), WHOLE).sum(axis=0)[None])[0])


def resampled(rng: Rng, prompts: int, kind: str) -> bool | None:
    draw, statistic = STATISTICS[kind]
    own = estimate_statistic(
        draw(rng, prompts), np.arange(prompts), statistic, "", resamples=RESAMPLES, seed=int(rng.integers(SEED_RANGE))
    )
    return is_between(own.low, true_statistic(kind), own.high)


def first_position(rng: Rng, prompts: int) -> bool | None:
    """Worth of the first position: 0, but prompts differ in who is better."""
    zeros, prompt = np.zeros(4 * prompts, np.int64), np.repeat(np.arange(prompts), 4)
    first = rng.integers(0, 2, prompts)[prompt] * 2 - 1
    eta = rng.normal(0, 1.0, prompts)[prompt]
    outcome = np.where(rng.random(len(eta)) < 1 / (1 + np.exp(-eta)), Outcome.A, Outcome.B)
    votes = votes_from_arrays(("ada", "bo"), zeros, zeros + 1, outcome, prompt, shown_first=first)
    worth = position_panel(votes, np.zeros(len(votes.annotators), np.bool_))["rows"][0]["worth"]
    return None if worth is None else is_between(worth["low"], 0.0, worth["high"])


def by_prompts(holds: Callable[..., bool | None], size: int, **more: object) -> dict[str, Simulation]:
    return {f"{n} prompts": batch(partial(holds, prompts=n, **more), size) for n in (10, 32, 100)}


def boards(population: Population, what: str) -> dict[str, Simulation]:
    return {f"{n} prompts": partial(ratings, prompts=n, population=population, what=what) for n in (10, 32, 100)}


SANDWICH = ("judging.stats.ratings.sandwich",)
BOARD, DIAGNOSTICS = "leaderboard, run page, comparison", "diagnostics of a leaderboard"
RESAMPLED = (
    "workers.analysis.resampling", "judging.stats.agreement.groups", "judging.stats.agreement.shares",
    "judging.stats.agreement.raters", "judging.stats.agreement.scorer_comparison", "judging.stats.agreement.position",
    "judging.judge_runs.calibration",
)  # fmt: skip
AGREEMENT = "diagnostics, calibration of a judge, labels"
CLAIMS = (
    Claim("rating", BOARD, SANDWICH, boards(EVEN, "rating"), at_least=0.93),
    Claim("difference of ratings", BOARD, SANDWICH, boards(EVEN, "difference"), at_least=0.93),
    Claim("difference, uneven prompts", BOARD, SANDWICH, boards(UNEVEN, "difference"), at_least=0.92),
    Claim("range of ranks", BOARD, SANDWICH, boards(EVEN, "rank"), at_least=0.95),
    Claim("difference, prompts and people", BOARD, SANDWICH, {"12 × 12": batch(two_way, 30)}, at_least=0.92),
    Claim("win rate", "board rows without a rating", ("judging.boards.win_rates", "judging.stats.ratings.counts"),
          {f"{n} votes": batch(partial(wins, n=n, spread=0.0), 50) for n in (20, 100, 1000)}, at_least=0.93),
    Claim("win rate, two votes a prompt", "board rows without a rating", ("judging.boards.win_rates",),
          {f"{n} votes": batch(partial(wins, n=n, spread=0.5), 50) for n in (20, 100, 1000)}, at_least=0.84,
          note="Wilson takes votes as independent; the pages say so"),
    Claim("cell of the win matrix", "leaderboard", ("judging.stats.ratings.counts",),
          {f"{n} games": batch(partial(cell_of_matrix, n=n), 20) for n in (10, 30, 100)}, at_least=0.92),
    Claim("share of votes", DIAGNOSTICS, RESAMPLED, by_prompts(resampled, 20, kind="share")),
    Claim("raw agreement", AGREEMENT, (*RESAMPLED, "workers.analysis.labels.agreement"),
          by_prompts(resampled, 20, kind="agreement")),
    Claim("Cohen's κ", AGREEMENT, RESAMPLED, by_prompts(resampled, 20, kind="kappa")),
    Claim("Krippendorff's α", DIAGNOSTICS, RESAMPLED, by_prompts(resampled, 20, kind="alpha")),
    Claim("worth of the first position", DIAGNOSTICS, ("judging.boards.panels.bias",), by_prompts(first_position, 10)),
)  # fmt: skip
