"""A board of any votes has meaningful numbers, and sentences for the rest."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from judging.boards.report import build_report, report_text
from judging.stats.ratings import TIES, UNITS, Elo, RatingOptions, Resampling
from judging.stats.ratings.connectivity import are_ties_bounded, check_connectivity
from judging.stats.ratings.counts import pair_counts
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.votes import Outcome, Votes, votes_from_arrays

N = 5
SLOW = [HealthCheck.too_slow]
"""Checks to suppress: the speed of sampling votes depends on the machine's load."""


@some.composite
def any_votes(draw) -> Votes:
    pair = some.permutations(range(N)).map(lambda order: order[:2])
    vote = some.tuples(pair, some.sampled_from(Outcome), some.integers(0, 3), some.integers(0, 2), some.integers(-1, 1))
    rows = draw(some.lists(vote, max_size=25))
    a, b, outcome, prompt, annotator, first = np.array(
        [(*sides, *rest) for sides, *rest in rows], np.int64
    ).reshape(-1, 6).T  # fmt: skip
    return votes_from_arrays(tuple("abcde"), a, b, outcome, prompt, annotator, first)


def reach(edges: np.ndarray, start: int) -> set[int]:
    seen, todo = {start}, [start]
    while todo:
        new = set(np.flatnonzero(edges[todo.pop()]).tolist()) - seen
        seen |= new
        todo += new
    return seen


@given(any_votes())
@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
def test_groups_are_strongly_connected_components(ballots):
    edges = pair_counts(ballots).scores > 0
    reached = [reach(edges, k) for k in range(N)]
    groups = {tuple(j for j in range(N) if j in reached[i] and i in reached[j]) for i in range(N)}
    assert set(check_connectivity(pair_counts(ballots)).groups) == groups


@given(any_votes(), some.sampled_from(TIES), some.sampled_from(list(UNITS)), some.sampled_from([0.0, 0.5]))
@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
def test_report_has_finite_ratings_or_reasons(ballots, ties, unit, prior):
    options = RatingOptions(ties, "a", prior, resampling=Resampling(unit, 20))
    result = build_report("any", ballots, options, "half", ["position"], Elo())
    json.dumps(result.to_json(), allow_nan=False)
    board, sentences = result.board, " ".join(result.board.sentences)
    assert sorted(standing.contestant for standing in board.standings) == list("abcde")
    for standing in board.standings:
        alone = sum(other.group == standing.group for other in board.standings) == 1
        if alone or standing.rating is None:
            assert standing.rating is None
            assert sentences
        else:
            assert math.isfinite(standing.rating.value)
            assert standing.rating.low is None or standing.rating.low <= standing.rating.high
    assert report_text(result, pairs=True).startswith("any: ")


@given(any_votes())
@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
def test_fit_succeeds_whenever_solution_exists(ballots):
    for members in check_connectivity(pair_counts(ballots)).groups:
        own = pair_counts(ballots.between_contestants(members))
        assert not fit(own).failed
        assert bool(fit(own, "davidson").failed) == (bool(own.ties.any()) and not are_ties_bounded(own))


@given(any_votes())
@settings(max_examples=25, deadline=None, suppress_health_check=SLOW)
def test_group_ratings_solve_likelihood_equations(ballots):
    fitted = build_report("any", ballots, RatingOptions(resampling=Resampling(resamples=2))).board
    for group in fitted.groups:
        own = pair_counts(ballots.between_contestants(group.members))
        theta = group.fit.theta
        hoped = own.games / (1 + np.exp(theta[None, :] - theta[:, None]))
        assert own.scores.sum(axis=1) == pytest.approx((hoped - np.diag(np.diag(hoped))).sum(axis=1), abs=1e-6)
