"""Intervals of strengths and of their differences cover the true values as often as they promise, with few prompts too.

The true strengths are known: votes are sampled from strengths that vary between prompts, and the strengths of the whole
population follow from the chance of each outcome over all prompts, which Gauss and Hermite's formula integrates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from judging.stats.ratings import RatingOptions, Resampling, compute_board
from judging.stats.ratings.bootstrap import bootstrap
from judging.stats.ratings.counts import Counts, pair_counts
from judging.stats.ratings.intervals import rank_intervals
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.ratings.sandwich import StrengthErrors, strength_errors
from judging.stats.votes import Outcome, Votes, votes_from_arrays
from tests.cases import each_case

LEVEL = 0.95
RESAMPLES = 200
SEED = 20_000


@dataclass(frozen=True)
class Population:
    """Contestants whose strengths, in nats, vary by `spread` between prompts.

    games: per prompt; None means that every pair meets once. Uneven: prompts have very different numbers of games.
    """

    theta: tuple[float, ...] = (-0.8, -0.4, 0.0, 0.4, 0.8)
    spread: float = 0.8
    games: int | None = None
    ties: float = 0.0

    def sample(self, prompts: int, seed: int) -> Votes:
        rng, n = np.random.default_rng(seed), len(self.theta)
        if self.games is None:
            low, high = np.triu_indices(n, 1)
            a, b, prompt = np.tile(low, prompts), np.tile(high, prompts), np.repeat(np.arange(prompts), len(low))
        else:
            a = rng.integers(0, n, self.games * prompts)
            b = (a + rng.integers(1, n, len(a))) % n
            prompt = rng.choice(prompts, len(a), p=rng.dirichlet(np.full(prompts, 1.5)))
        strengths = np.array(self.theta) + rng.normal(0, self.spread, (prompts, n))
        chance = 1 / (1 + np.exp(strengths[prompt, b] - strengths[prompt, a]))
        outcome = np.where(rng.random(len(a)) < chance, Outcome.A, Outcome.B)
        outcome = np.where(rng.random(len(a)) < self.ties, Outcome.TIE, outcome)
        return votes_from_arrays(tuple(f"model-{k}" for k in range(n)), a, b, outcome, prompt)

    @property
    def true_strengths(self) -> np.ndarray:
        """Return the strengths of all prompts together: float64[n], mean 0."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(61)
        theta = np.array(self.theta)
        apart = theta[:, None, None] - theta[:, None] + np.sqrt(2) * self.spread * nodes
        wins = (weights / weights.sum() / (1 + np.exp(-apart))).sum(axis=-1) * (1 - np.eye(len(theta)))
        wins = (1 - self.ties) * wins + self.ties / 2 * (1 - np.eye(len(theta)))
        return fit(Counts(wins, np.zeros_like(wins))).theta


def covered(population: Population, prompts: int, seed: int) -> np.ndarray | None:
    """Return whether each interval holds the truth: of strengths, then of differences. None if there is no interval."""
    votes, true = population.sample(prompts, seed), population.true_strengths
    fitted = fit(pair_counts(votes))
    if fitted.failed or bootstrap(votes, Resampling(resamples=RESAMPLES)).failed > (1 - LEVEL) / 2 * RESAMPLES:
        return None
    errors = strength_errors(votes, fitted)
    single = errors.interval(fitted.theta, errors.centred, LEVEL)
    apart = errors.interval(fitted.theta[:, None] - fitted.theta, errors.difference, LEVEL)
    pairs, true_apart = np.triu_indices(len(true), 1), true[:, None] - true
    return np.concatenate(
        [(single.low <= true) & (true <= single.high), ((apart.low <= true_apart) & (true_apart <= apart.high))[pairs]]
    )


def coverage(population: Population, prompts: int, rounds: int) -> tuple[float, int]:
    """Return (the share of intervals that hold the truth, the number of rounds with intervals)."""
    rows = [row for k in range(rounds) if (row := covered(population, prompts, SEED + k)) is not None]
    return float(np.mean(rows)), len(rows)


EVEN, UNEVEN = Population(), Population(theta=(-0.8, -0.3, 0.3, 0.8), games=8)
POPULATIONS = {
    "every pair, prompts differ": EVEN,
    "every pair, prompts alike": Population(spread=0.0),
    "every pair, with ties": Population(ties=0.3),
    "uneven prompts that differ": UNEVEN,
    "uneven prompts, far apart": Population(theta=(-1.5, -0.9, -0.3, 0.3, 0.9, 1.5), spread=0.0, games=20),
}


@each_case("prompts", [10, 32])
def test_intervals_have_their_level_with_few_prompts(prompts):
    rounds = 60
    share, n = coverage(EVEN, prompts, rounds)
    # The intervals of one round depend on each other: at most, they are as many as the rounds.
    error = np.sqrt(LEVEL * (1 - LEVEL) / n)
    assert n > 0.9 * rounds
    assert abs(share - LEVEL) < 1.7 * error


@pytest.mark.soak
@pytest.mark.parametrize("prompts", [10, 20, 32, 100])
def test_coverage_of_intervals_is_between_93_and_97_percent(prompts):
    print("\nname, prompts, rounds with intervals, coverage")
    shares = {}
    for name, population in POPULATIONS.items():
        shares[name], n = coverage(population, prompts, 500)
        print(f"{name:28} {prompts:4} {n:5} {shares[name]:.3f}")
    assert all(0.93 <= share <= 0.97 for share in shares.values()), shares


def test_errors_of_two_contestants_equal_closed_form():
    # With one vote a prompt, CR3 of log odds is known: each vote's step is its residual over the rest's information.
    wins, n = 14, 40
    outcome = np.repeat([Outcome.A, Outcome.B], [wins, n - wins])
    votes = votes_from_arrays(("ada", "bo"), np.zeros(n, np.int64), np.ones(n, np.int64), outcome)
    errors = strength_errors(votes, fit(pair_counts(votes)))
    p = wins / n
    variance = (n - 1) / n * (wins * (1 - p) ** 2 + (n - wins) * p**2) / ((n - 1) * p * (1 - p)) ** 2
    assert errors.difference[0, 1] == pytest.approx(np.sqrt(variance), rel=1e-9)
    assert errors.centred == pytest.approx(np.sqrt(variance) / 2, rel=1e-9)
    assert errors.freedom == n - 1


@each_case(("ties", "prior"), [("half-win", 0.0), ("half-win", 0.5), ("davidson", 0.0), ("davidson", 0.5)])
def test_errors_equal_those_of_a_jackknife_that_fits_again(ties, prior):
    votes = Population(ties=0.3).sample(40, 1)
    counts = [pair_counts(votes.select(votes.prompt != k)) for k in range(40)]
    without = fit(Counts(np.array([c.wins for c in counts]), np.array([c.ties for c in counts])), ties, prior).theta
    refitted = np.sqrt(39 / 40 * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    errors = strength_errors(votes, fit(pair_counts(votes), ties, prior), ties=ties, prior=prior)
    assert errors.centred == pytest.approx(refitted, rel=0.02)


def test_errors_of_single_votes_do_not_depend_on_how_they_are_summed(monkeypatch):
    votes = Population(games=20, ties=0.2).sample(10, 2)
    by_kind = strength_errors(votes, fit(pair_counts(votes)), "vote")
    numbered = Votes(**vars(votes) | {"prompt": np.arange(len(votes)), "prompts": tuple(map(str, range(len(votes))))})
    monkeypatch.setattr("judging.stats.ratings.sandwich.MAX_FITTED_NUMBERS", 400)
    in_blocks = strength_errors(numbered, fit(pair_counts(votes)), "prompt")
    assert by_kind.difference == pytest.approx(in_blocks.difference, rel=1e-9)


def two_way_votes(seed: int, effect: float) -> Votes:
    """Return votes of 12 annotators on 12 prompts, whose tastes and difficulties shift the odds."""
    rng = np.random.default_rng(seed)
    annotator, prompt = np.divmod(np.arange(144), 12)
    eta = 0.3 + rng.normal(0, effect, 12)[annotator] + rng.normal(0, effect, 12)[prompt]
    outcome = (rng.random(144) > 1 / (1 + np.exp(-eta))).astype(np.int64)
    zeros = np.zeros(144, np.int64)
    return votes_from_arrays(("ada", "bo"), zeros, zeros + 1, outcome, prompt, annotator)


def test_two_way_errors_are_not_below_those_of_either_unit():
    votes = two_way_votes(1, 1.0)
    fitted = fit(pair_counts(votes))
    both, prompt, annotator = (strength_errors(votes, fitted, unit) for unit in ("both", "prompt", "annotator"))
    assert both.difference[0, 1] >= max(prompt.difference[0, 1], annotator.difference[0, 1])
    assert both.freedom == 11


def test_one_cluster_gives_no_errors():
    votes = Population(games=50).sample(1, 0)
    assert strength_errors(votes, fit(pair_counts(votes))) is None


def test_ranks_count_differences_that_overlapping_intervals_hide():
    # A rating's own interval holds the errors of all others: two may overlap although their difference is decided.
    (group,) = compute_board(EVEN.sample(60, 1), RatingOptions(resampling=Resampling(resamples=100))).groups
    (low, high), above = group.centred_interval, group.difference_interval.low > 0
    assert ((low[:, None] <= high) & above).any()
    ranks = [(1 + above[:, k].sum(), len(above) - above[k].sum()) for k in range(len(above))]
    assert group.rank_range.tolist() == [list(pair) for pair in ranks]


def test_rank_is_certain_if_nearly_all_resamples_have_it():
    votes = Population(theta=(-0.5, 0.0, 0.5), spread=0.0).sample(300, 1)
    (group,) = compute_board(votes).groups
    certain = group.ranks.max(axis=1) > 0.999
    assert certain.any()
    assert (np.ptp(group.rank_range[certain], axis=1) == 0).all()


def test_rank_intervals_hold_the_true_rank():
    true = np.argsort(np.argsort(-np.array(EVEN.theta))) + 1
    within = []
    for seed in range(40):
        votes = EVEN.sample(40, seed)
        fitted = fit(pair_counts(votes))
        errors: StrengthErrors = strength_errors(votes, fitted)
        apart = errors.interval(fitted.theta[:, None] - fitted.theta, errors.difference, LEVEL)
        best, worst = rank_intervals(*apart).T
        within += ((best <= true) & (true <= worst)).tolist()
    assert np.mean(within) > 0.9
