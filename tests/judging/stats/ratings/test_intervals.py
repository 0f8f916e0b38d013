"""Resamples, ranks and warnings of boards. `test_coverage.py` has the coverage of intervals."""

from __future__ import annotations

import numpy as np
import pytest

from judging.stats.ratings import RatingOptions, Resampling, compute_board
from judging.stats.ratings.bootstrap import bootstrap
from judging.stats.ratings.counts import Cells, Counts, pair_counts
from judging.stats.ratings.intervals import rank_intervals, rank_probabilities
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.ratings.sandwich import strength_errors
from judging.stats.votes import Outcome, Votes, votes_from_arrays
from tests.cases import each_case
from tests.judging.synthetic_votes import make_random_votes


def repeated_votes(times: int, prompts: int, seed: int = 0) -> Votes:
    """Return votes of two contestants; each prompt has one outcome, which `times` votes repeat."""
    outcome = np.random.default_rng(seed).integers(0, 2, prompts).repeat(times)
    zeros = np.zeros(len(outcome), np.int64)
    return votes_from_arrays(("ada", "bo"), zeros, zeros + 1, outcome, np.arange(prompts).repeat(times))


def width(ballots: Votes, unit: str) -> float:
    errors = strength_errors(ballots, fit(pair_counts(ballots)), unit)
    return float(errors.centred[0])


def test_repeated_votes_do_not_narrow_intervals():
    assert width(repeated_votes(10, 100), "prompt") == pytest.approx(width(repeated_votes(1, 100), "prompt"), rel=0.1)
    assert width(repeated_votes(10, 100), "vote") < width(repeated_votes(1, 100), "vote") / 2.5


def test_sparse_bootstrap_equals_dense_bootstrap(monkeypatch):
    ballots = make_random_votes()
    dense = bootstrap(ballots, Resampling(resamples=20)).theta
    monkeypatch.setattr("judging.stats.ratings.bootstrap.MAX_DENSE_NUMBERS", 0)
    assert bootstrap(ballots, Resampling(resamples=20)).theta == pytest.approx(dense, abs=1e-12)


def test_bootstrap_by_kind_agrees_with_bootstrap_by_vote(monkeypatch):
    ballots = make_random_votes(size=400)
    by_kind = bootstrap(ballots, Resampling("vote", 1500)).theta
    monkeypatch.setattr(
        "judging.stats.ratings.bootstrap._resample_single_entries",
        lambda table, rng, times: _one_by_one(table, rng, times),
    )
    one_by_one = bootstrap(ballots, Resampling("vote", 1500)).theta
    assert by_kind.std(axis=0) == pytest.approx(one_by_one.std(axis=0), rel=0.06)
    assert np.corrcoef(by_kind.T) == pytest.approx(np.corrcoef(one_by_one.T), abs=0.06)


def _one_by_one(table: Cells, rng: np.random.Generator, times: int) -> Counts:
    size = len(table.cell)
    samples = [
        table.counts(np.bincount(rng.integers(0, size, size), minlength=size).astype(float)) for _ in range(times)
    ]
    return Counts(np.array([sample.wins for sample in samples]), np.array([sample.ties for sample in samples]))


def test_bootstrap_in_blocks_equals_bootstrap_at_once(monkeypatch):
    ballots = make_random_votes(size=400)
    whole = {unit: bootstrap(ballots, Resampling(unit, 20)).theta for unit in ("prompt", "annotator", "both")}
    monkeypatch.setattr("judging.stats.ratings.bootstrap.MAX_FITTED_NUMBERS", 7 * 6**2)
    for unit, theta in whole.items():
        assert bootstrap(ballots, Resampling(unit, 20)).theta == pytest.approx(theta, abs=1e-9)


def test_resampling_both_units_gives_widest_intervals():
    rng = np.random.default_rng(0)
    annotator, prompt = np.divmod(np.arange(30 * 30), 30)
    # Annotators differ in taste: some always prefer ada, some bo.
    chance = np.clip(0.5 + rng.choice([-0.35, 0.35], 30)[annotator] + rng.normal(0, 0.1, 30)[prompt], 0, 1)
    outcome = (rng.random(900) > chance).astype(np.int64)
    ballots = votes_from_arrays(
        ("ada", "bo"), np.zeros(900, np.int64), np.ones(900, np.int64), outcome, prompt, annotator
    )
    assert width(ballots, "both") > width(ballots, "annotator") > 2 * width(ballots, "prompt")


def test_same_seed_gives_same_board_hash():
    ballots = make_random_votes(size=300)
    same = [
        compute_board(ballots, RatingOptions(resampling=Resampling(resamples=50, seed=seed))).hash for seed in (1, 1, 2)
    ]
    assert same[0] == same[1] != same[2]


def test_tied_draws_share_ranks():
    theta = np.array([[1.0, 0.0, 0.0], [2.0, 1.0, 0.0]])
    assert rank_probabilities(theta).tolist() == [[1, 0, 0], [0, 0.75, 0.25], [0, 0.25, 0.75]]


def test_rank_probabilities_add_up_both_ways():
    probabilities = rank_probabilities(np.random.default_rng(0).normal(size=(500, 7)))
    assert probabilities.sum(axis=0) == pytest.approx(np.ones(7))
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(7))


def test_rank_interval_counts_decided_pairs():
    # b and c are both below a and above d, and undecided between each other.
    low = np.array([[0.0, 1, 1, 5], [-9, 0, -2, 2], [-9, -4, 0, 1], [-9, -9, -9, 0]])
    assert rank_intervals(low, -low.T).tolist() == [[1, 1], [2, 3], [2, 3], [4, 4]]


def test_board_warns_of_few_prompts():
    sentences = compute_board(make_random_votes(size=800, prompts=8)).sentences
    assert "Intervals over 8 clusters (prompts are drawn) are only rough: take 10 or more." in sentences
    assert not compute_board(make_random_votes(size=800, prompts=12)).sentences


def test_one_annotator_cannot_be_resampled():
    result = compute_board(make_random_votes(annotators=1), RatingOptions(resampling=Resampling("annotator", 50)))
    assert result.standings[0].rating.low is None
    assert "All votes come from one cluster (annotators are drawn)" in result.sentences[0]


def test_many_failed_resamples_give_no_interval():
    outcome = np.array([Outcome.A] * 39 + [Outcome.B], np.int64)
    zeros = np.zeros(40, np.int64)
    result = compute_board(votes_from_arrays(("ada", "bo"), zeros, zeros + 1, outcome))
    (sentence,) = result.sentences
    assert sentence.startswith("In 3")
    assert sentence.endswith("or unconnected: at 95% there are no intervals. More votes or a prior give some.")
    assert result.standings[0].rating.value == pytest.approx(1000 + 200 * np.log10(39))
    assert result.standings[0].rating.low is None
    with_prior = compute_board(votes_from_arrays(("ada", "bo"), zeros, zeros + 1, outcome), RatingOptions(prior=0.5))
    assert with_prior.standings[0].rating.low is not None


def test_few_failed_resamples_are_left_out_of_interval():
    outcome = np.array([Outcome.A] * 55 + [Outcome.B] * 4, np.int64)
    zeros = np.zeros(59, np.int64)
    result = compute_board(votes_from_arrays(("ada", "bo"), zeros, zeros + 1, outcome))
    assert result.groups[0].draws.failed > 0
    assert result.sentences[0].endswith("unconnected: probabilities of ranks leave them out.")
    assert result.standings[0].rating.low is not None


@each_case(
    ("options", "reason"),
    [
        ({"ties": "elo"}, "ties must be one of half-win, davidson, not 'elo'"),
        ({"level": 95}, "the level must be between 0 and 1, not 95"),
        ({"anchor": "zoe"}, "the anchor must be one of model-0, .*, model-5, not 'zoe'"),
        ({"prior": -1.0}, "prior must be 0 or more wins each way"),
    ],
)
def test_invalid_rating_options_are_refused_with_choices(options, reason):
    with pytest.raises(ValueError, match=reason):
        compute_board(make_random_votes(size=100), RatingOptions(**options))


def test_unknown_resampling_unit_is_refused_with_choices():
    with pytest.raises(ValueError, match="the unit must be one of prompt, annotator, both, vote, not 'rows'"):
        Resampling("rows")
