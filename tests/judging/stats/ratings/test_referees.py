"""What choix, evalica and statsmodels compute from the same votes."""

from __future__ import annotations

import choix
import evalica
import numpy as np
import pytest
import statsmodels.api as sm

from judging.stats.ratings import Elo, adjusted, single_pass
from judging.stats.ratings.counts import counts
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.ratings.sandwich import sandwich
from judging.stats.votes import Outcome, Votes
from tests.judging.published_votes import FOLDER, baseball, published_votes
from tests.judging.synthetic_votes import invented

WINNER = {Outcome.A: evalica.Winner.X, Outcome.B: evalica.Winner.Y, Outcome.TIE: evalica.Winner.Draw}
SETS = {
    "six": lambda: invented(),
    "few votes": lambda: invented(size=80, contestants=5, seed=3),
    "twenty, far apart": lambda: invented(size=1_500, theta=np.linspace(-3, 3, 20), contestants=20, seed=1),
    "baseball": baseball,
    "helpfulness": lambda: published_votes("helpfulness"),
    "harmlessness": lambda: published_votes("harmlessness"),
}
PUBLISHED = ("baseball", "helpfulness", "harmlessness")


@pytest.fixture(scope="module", params=SETS)
def votes(request: pytest.FixtureRequest) -> Votes:
    if request.param in PUBLISHED and FOLDER is None:
        pytest.skip("the published judgments and classics are not here")
    return SETS[request.param]().counted


def evalicas(votes: Votes, method, **options) -> np.ndarray:
    """Log-strengths with mean 0."""
    names = np.array(votes.contestants)
    winners = [WINNER[Outcome(one)] for one in votes.outcome]
    found = method(names[votes.a].tolist(), names[votes.b].tolist(), winners, limit=100_000, tolerance=1e-13, **options)
    logs = np.log(found.scores.reindex(votes.contestants).to_numpy())
    return logs - logs.mean()


def design(votes: Votes) -> np.ndarray:
    x = np.zeros((len(votes), len(votes.contestants)))
    x[np.arange(len(votes)), votes.a] = 1
    x[np.arange(len(votes)), votes.b] = -1
    return x[:, :-1]


def of_reference(theta: np.ndarray) -> np.ndarray:
    return (theta - theta[-1])[:-1]


def test_half_wins_are_as_evalica_has_them(votes):
    assert fit(counts(votes)).theta == pytest.approx(evalicas(votes, evalica.bradley_terry), abs=1e-6)


def test_ties_of_their_own_are_as_evalicas_newman_has_them(votes):
    # Where nobody tied, theirs is Bradley and Terry's too.
    assert fit(counts(votes), "davidson").theta == pytest.approx(evalicas(votes, evalica.newman), abs=1e-6)


def test_votes_without_ties_are_as_choix_has_them(votes):
    decided = votes.where(votes.outcome != Outcome.TIE)
    winner, loser = np.where(decided.outcome == Outcome.A, (decided.a, decided.b), (decided.b, decided.a))
    pairs = list(zip(winner.tolist(), loser.tolist(), strict=True))
    theirs = choix.ilsr_pairwise(len(votes.contestants), pairs, tol=1e-12, max_iter=1000)
    assert fit(counts(decided)).theta == pytest.approx(theirs - theirs.mean(), abs=1e-6)


def test_strengths_and_their_clustered_covariance_are_as_statsmodels_has_them(votes):
    theirs = sm.GLM(votes.score, design(votes), family=sm.families.Binomial()).fit(
        tol=1e-13, cov_type="cluster", cov_kwds={"groups": votes.prompt}
    )
    found = fit(counts(votes))
    assert of_reference(found.theta) == pytest.approx(theirs.params, abs=1e-6)
    ours, last = sandwich(votes, found), len(votes.contestants) - 1
    errors = [ours.of_difference(k, last) for k in range(last)]
    assert errors == pytest.approx(theirs.bse, abs=1e-6)


def test_position_and_length_are_as_statsmodels_has_them():
    votes = invented(size=3000)
    length = np.random.default_rng(1).normal(0.3, 2.0, len(votes)) + votes.score
    votes = Votes(**{**vars(votes), "features": {"length": length}})
    x = np.column_stack([design(votes), votes.shown_first, length / length.std()])
    theirs = sm.GLM(votes.score, x, family=sm.families.Binomial()).fit(
        tol=1e-13, cov_type="cluster", cov_kwds={"groups": votes.prompt}
    )
    ours = adjusted(votes, ["position", "length"])
    assert of_reference(ours.theta) == pytest.approx(theirs.params[:-2], abs=1e-6)
    effects = [(one.value, one.error) for one in ours.effects.values()]
    assert np.array(effects) == pytest.approx(np.column_stack([theirs.params, theirs.bse])[-2:], abs=1e-6)
    naive = sm.GLM(votes.score, x, family=sm.families.Binomial()).fit(tol=1e-13).bse[-2:]
    assert [one.naive for one in ours.effects.values()] == pytest.approx(naive, abs=1e-6)


def test_a_prior_on_pairs_that_met_is_as_choix_has_the_same_games_more():
    votes = invented(size=300, tie_rate=0)
    ours = fit(counts(votes), prior=1.0)
    winner, loser = np.where(votes.outcome == Outcome.A, (votes.a, votes.b), (votes.b, votes.a))
    met = [tuple(pair) for pair in np.argwhere(counts(votes).games > 0).tolist()]
    theirs = choix.ilsr_pairwise(6, [*zip(winner.tolist(), loser.tolist(), strict=True), *met], tol=1e-12)
    assert ours.theta == pytest.approx(theirs - theirs.mean(), abs=1e-6)


def test_online_elo_is_as_evalica_has_it():
    votes = invented(size=500)
    names = np.array(votes.contestants)
    winners = [WINNER[Outcome(one)] for one in votes.outcome]
    theirs = evalica.elo(names[votes.a].tolist(), names[votes.b].tolist(), winners, k=16, initial=1000)
    ours = single_pass(votes, Elo(k=16, shuffle=None))
    assert ours == pytest.approx(theirs.scores.reindex(votes.contestants).to_numpy(), abs=1e-6)
