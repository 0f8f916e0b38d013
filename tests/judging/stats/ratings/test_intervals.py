"""Intervals cover what they promise; ranks are said with what leaves them open."""

from __future__ import annotations

import numpy as np
import pytest

from judging.stats.ratings import RatingOptions, Resampling, board
from judging.stats.ratings.bootstrap import bootstrap
from judging.stats.ratings.counts import Cells, Counts, counts
from judging.stats.ratings.intervals import percentile, rank_intervals, rank_probabilities
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.ratings.sandwich import sandwich
from judging.stats.votes import Outcome, Votes, votes
from tests.judging.synthetic_votes import invented


def repeated(times: int, prompts: int, seed: int = 0) -> Votes:
    """Two contestants; each prompt has one outcome, which `times` votes repeat."""
    outcome = np.random.default_rng(seed).integers(0, 2, prompts).repeat(times)
    zeros = np.zeros(len(outcome), np.int64)
    return votes(("ada", "bo"), zeros, zeros + 1, outcome, np.arange(prompts).repeat(times))


def width(of: Votes, unit: str) -> float:
    draws = bootstrap(of, Resampling(unit, 400)).theta
    low, high = percentile(draws[:, 0])
    return float(high - low)


def test_votes_that_repeat_each_other_make_nothing_surer():
    assert width(repeated(10, 100), "prompt") == pytest.approx(width(repeated(1, 100), "prompt"), rel=0.1)
    assert width(repeated(10, 100), "vote") < width(repeated(1, 100), "vote") / 2.5


def test_clustered_bootstrap_and_sandwich_say_the_same():
    made = invented(size=3000, prompts=300)
    found = fit(counts(made))
    spread = bootstrap(made, Resampling(resamples=800)).theta.std(axis=0)
    assert np.sqrt(np.diag(sandwich(made, found).matrix)) == pytest.approx(spread, rel=0.1)


def test_intervals_cover_what_is_true_as_often_as_they_say():
    theta = np.linspace(-0.8, 0.8, 4)
    covered = []
    for seed in range(100):
        made = invented(400, 4, prompts=80, tie_rate=0, seed=seed, theta=theta)
        low, high = percentile(bootstrap(made, Resampling(resamples=200, seed=seed)).theta)
        covered += ((low <= theta) & (theta <= high)).tolist()
    assert 0.91 < np.mean(covered) < 0.98


def test_both_ways_of_resampling_a_large_table_are_the_same(monkeypatch):
    made = invented()
    dense = bootstrap(made, Resampling(resamples=20)).theta
    monkeypatch.setattr("judging.stats.ratings.bootstrap.DENSE_AT_MOST", 0)
    assert bootstrap(made, Resampling(resamples=20)).theta == pytest.approx(dense, abs=1e-12)


def test_votes_on_prompts_of_their_own_are_resampled_by_kind_to_the_same_effect(monkeypatch):
    made = invented(size=400)
    by_kind = bootstrap(made, Resampling("vote", 1500)).theta
    monkeypatch.setattr(
        "judging.stats.ratings.bootstrap._of_kinds", lambda table, rng, times: _one_by_one(table, rng, times)
    )
    one_by_one = bootstrap(made, Resampling("vote", 1500)).theta
    assert by_kind.std(axis=0) == pytest.approx(one_by_one.std(axis=0), rel=0.06)
    assert np.corrcoef(by_kind.T) == pytest.approx(np.corrcoef(one_by_one.T), abs=0.06)


def _one_by_one(table: Cells, rng: np.random.Generator, times: int) -> Counts:
    size = len(table.cell)
    drawn = [table.counts(np.bincount(rng.integers(0, size, size), minlength=size).astype(float)) for _ in range(times)]
    return Counts(np.array([one.wins for one in drawn]), np.array([one.ties for one in drawn]))


def test_resamples_in_blocks_are_the_same_resamples(monkeypatch):
    made = invented(size=400)
    whole = {unit: bootstrap(made, Resampling(unit, 20)).theta for unit in ("prompt", "annotator", "both")}
    monkeypatch.setattr("judging.stats.ratings.bootstrap.FITTED_AT_ONCE", 7 * 6**2)
    for unit, theta in whole.items():
        assert bootstrap(made, Resampling(unit, 20)).theta == pytest.approx(theta, abs=1e-9)


def test_prompts_and_annotators_together_are_less_sure_than_either():
    rng = np.random.default_rng(0)
    annotator, prompt = np.divmod(np.arange(30 * 30), 30)
    # Annotators differ in taste: some always prefer ada, some bo.
    chance = np.clip(0.5 + rng.choice([-0.35, 0.35], 30)[annotator] + rng.normal(0, 0.1, 30)[prompt], 0, 1)
    outcome = (rng.random(900) > chance).astype(np.int64)
    made = votes(("ada", "bo"), np.zeros(900, np.int64), np.ones(900, np.int64), outcome, prompt, annotator)
    assert width(made, "both") > width(made, "annotator") > 2 * width(made, "prompt")


def test_the_same_seed_gives_the_same_intervals():
    made = invented(size=300)
    same = [board(made, RatingOptions(resampling=Resampling(resamples=50, seed=seed))).hash for seed in (1, 1, 2)]
    assert same[0] == same[1] != same[2]


def test_ranks_of_draws_that_tie_are_shared():
    theta = np.array([[1.0, 0.0, 0.0], [2.0, 1.0, 0.0]])
    assert rank_probabilities(theta).tolist() == [[1, 0, 0], [0, 0.75, 0.25], [0, 0.25, 0.75]]


def test_rank_probabilities_add_up_both_ways():
    found = rank_probabilities(np.random.default_rng(0).normal(size=(500, 7)))
    assert found.sum(axis=0) == pytest.approx(np.ones(7))
    assert found.sum(axis=1) == pytest.approx(np.ones(7))


def test_a_rank_is_open_as_far_as_intervals_overlap():
    low, high = np.array([9.0, 5.0, 4.0, 0.0]), np.array([12.0, 8.0, 6.0, 1.0])
    assert rank_intervals(low, high).tolist() == [[1, 1], [2, 3], [2, 3], [4, 4]]


def test_few_prompts_are_warned_of():
    said = board(invented(size=800, prompts=12)).sentences
    assert "Intervals over 12 clusters (prompts are drawn) are too narrow: take 20 or more." in said


def test_one_annotator_cannot_be_resampled():
    found = board(invented(annotators=1), RatingOptions(resampling=Resampling("annotator", 50)))
    assert found.standings[0].rating.low is None
    assert "All votes come from one cluster (annotators are drawn)" in found.sentences[0]


def test_resamples_without_ratings_are_counted_and_where_many_no_interval_is_given():
    outcome = np.array([Outcome.A] * 39 + [Outcome.B], np.int64)
    zeros = np.zeros(40, np.int64)
    found = board(votes(("ada", "bo"), zeros, zeros + 1, outcome))
    (sentence,) = found.sentences
    assert sentence.startswith("In 3")
    assert sentence.endswith("or unconnected: at 95% there are no intervals. More votes or a prior give some.")
    assert found.standings[0].rating.value == pytest.approx(1000 + 200 * np.log10(39))
    assert found.standings[0].rating.low is None
    with_prior = board(votes(("ada", "bo"), zeros, zeros + 1, outcome), RatingOptions(prior=0.5))
    assert with_prior.standings[0].rating.low is not None


def test_few_resamples_without_ratings_are_left_out_and_told():
    outcome = np.array([Outcome.A] * 55 + [Outcome.B] * 4, np.int64)
    zeros = np.zeros(59, np.int64)
    found = board(votes(("ada", "bo"), zeros, zeros + 1, outcome))
    assert found.groups[0].draws.failed > 0
    assert found.sentences[0].endswith("unconnected: intervals leave them out.")
    assert found.standings[0].rating.low is not None


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"ties": "elo"}, "ties must be one of half-win, davidson, not 'elo'"),
        ({"level": 95}, "the level must lie between 0 and 1, not be 95"),
        ({"anchor": "zoe"}, "the anchor must be one of model-0, .*, model-5, not 'zoe'"),
        ({"prior": -1.0}, "prior must be 0 or more wins each way"),
    ],
)
def test_what_is_asked_wrongly_is_answered_with_what_there_is(asked, why):
    with pytest.raises(ValueError, match=why):
        board(invented(size=100), RatingOptions(**asked))


def test_an_unknown_unit_is_answered_with_those_there_are():
    with pytest.raises(ValueError, match="the unit must be one of prompt, annotator, both, vote, not 'rows'"):
        Resampling("rows")
