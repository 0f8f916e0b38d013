"""Results of choix, evalica and statsmodels for the same votes."""

from __future__ import annotations

import choix
import evalica
import numpy as np
import pytest
import statsmodels.api as sm

from judging.stats.ratings import Elo, controlled_ratings, single_pass
from judging.stats.ratings.counts import pair_counts
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.ratings.sandwich import strength_errors
from judging.stats.votes import Outcome, Votes
from tests.judging.published_votes import FOLDER, baseball, published_votes
from tests.judging.synthetic_votes import make_random_votes

WINNER = {Outcome.A: evalica.Winner.X, Outcome.B: evalica.Winner.Y, Outcome.TIE: evalica.Winner.Draw}
SETS = {
    "six": lambda: make_random_votes(),
    "few votes": lambda: make_random_votes(size=80, contestants=5, seed=3),
    "twenty, far apart": lambda: make_random_votes(size=1_500, theta=np.linspace(-3, 3, 20), contestants=20, seed=1),
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


def evalica_strengths(votes: Votes, method, **options) -> np.ndarray:
    """Return log-strengths with mean 0."""
    names = np.array(votes.contestants)
    winners = [WINNER[Outcome(outcome)] for outcome in votes.outcome]
    result = method(
        names[votes.a].tolist(), names[votes.b].tolist(), winners, limit=100_000, tolerance=1e-13, **options
    )
    logs = np.log(result.scores.reindex(votes.contestants).to_numpy())
    return logs - logs.mean()


def design(votes: Votes) -> np.ndarray:
    x = np.zeros((len(votes), len(votes.contestants)))
    x[np.arange(len(votes)), votes.a] = 1
    x[np.arange(len(votes)), votes.b] = -1
    return x[:, :-1]


def relative_to_last(theta: np.ndarray) -> np.ndarray:
    return (theta - theta[-1])[:-1]


def test_half_win_ties_match_evalica(votes):
    assert fit(pair_counts(votes)).theta == pytest.approx(evalica_strengths(votes, evalica.bradley_terry), abs=1e-6)


def test_davidson_ties_match_evalica_newman(votes):
    # Without ties, evalica's result is Bradley and Terry's too.
    assert fit(pair_counts(votes), "davidson").theta == pytest.approx(
        evalica_strengths(votes, evalica.newman), abs=1e-6
    )


def test_votes_without_ties_match_choix(votes):
    decided = votes.select(votes.outcome != Outcome.TIE)
    winner, loser = np.where(decided.outcome == Outcome.A, (decided.a, decided.b), (decided.b, decided.a))
    pairs = list(zip(winner.tolist(), loser.tolist(), strict=True))
    reference = choix.ilsr_pairwise(len(votes.contestants), pairs, tol=1e-12, max_iter=1000)
    assert fit(pair_counts(decided)).theta == pytest.approx(reference - reference.mean(), abs=1e-6)


def jackknife_errors(x: np.ndarray, score: np.ndarray, mean: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    """Return CR3 errors (Bell and McCaffrey 2002) of a logistic regression with these fitted means, by definition."""
    weight, names = mean * (1 - mean), np.unique(cluster)
    bread = (x * weight[:, None]).T @ x
    steps = []
    for name in names:
        own = x[cluster == name]
        without = bread - (own * weight[cluster == name, None]).T @ own
        steps.append(np.linalg.solve(without, own.T @ (score - mean)[cluster == name]))
    return np.sqrt((len(names) - 1) / len(names) * np.sum(np.square(steps), axis=0))


def test_strengths_and_errors_match_statsmodels(votes):
    reference = sm.GLM(votes.score, design(votes), family=sm.families.Binomial()).fit(tol=1e-13)
    fitted = fit(pair_counts(votes))
    assert relative_to_last(fitted.theta) == pytest.approx(reference.params, abs=1e-6)
    if len(np.unique(votes.prompt)) < len(votes):
        errors = jackknife_errors(design(votes), votes.score, reference.fittedvalues, votes.prompt)
        assert strength_errors(votes, fitted).difference[:-1, -1] == pytest.approx(errors, rel=1e-5)


def test_position_and_length_effects_match_statsmodels():
    votes = make_random_votes(size=3000)
    length = np.random.default_rng(1).normal(0.3, 2.0, len(votes)) + votes.score
    votes = Votes(**{**vars(votes), "features": {"length": length}})
    x = np.column_stack([design(votes), votes.shown_first, length / length.std()])
    reference = sm.GLM(votes.score, x, family=sm.families.Binomial()).fit(
        tol=1e-13, cov_type="cluster", cov_kwds={"groups": votes.prompt}
    )
    ours = controlled_ratings(votes, ["position", "length"])
    assert relative_to_last(ours.theta) == pytest.approx(reference.params[:-2], abs=1e-6)
    effects = [(effect.value, effect.error) for effect in ours.effects.values()]
    assert np.array(effects) == pytest.approx(np.column_stack([reference.params, reference.bse])[-2:], abs=1e-6)
    naive = sm.GLM(votes.score, x, family=sm.families.Binomial()).fit(tol=1e-13).bse[-2:]
    assert [effect.naive for effect in ours.effects.values()] == pytest.approx(naive, abs=1e-6)


def test_prior_matches_choix_with_extra_games():
    votes = make_random_votes(size=300, tie_rate=0)
    ours = fit(pair_counts(votes), prior=1.0)
    winner, loser = np.where(votes.outcome == Outcome.A, (votes.a, votes.b), (votes.b, votes.a))
    met = [tuple(pair) for pair in np.argwhere(pair_counts(votes).games > 0).tolist()]
    reference = choix.ilsr_pairwise(6, [*zip(winner.tolist(), loser.tolist(), strict=True), *met], tol=1e-12)
    assert ours.theta == pytest.approx(reference - reference.mean(), abs=1e-6)


def test_online_elo_matches_evalica():
    votes = make_random_votes(size=500)
    names = np.array(votes.contestants)
    winners = [WINNER[Outcome(outcome)] for outcome in votes.outcome]
    reference = evalica.elo(names[votes.a].tolist(), names[votes.b].tolist(), winners, k=16, initial=1000)
    ours = single_pass(votes, Elo(k=16, shuffle=None))
    assert ours == pytest.approx(reference.scores.reindex(votes.contestants).to_numpy(), abs=1e-6)
