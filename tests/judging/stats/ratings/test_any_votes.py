"""Whatever the votes are, a board is made of numbers that mean something, and of sentences for the rest."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from judging.boards.report import report, text
from judging.stats.ratings import TIES, UNITS, Elo, RatingOptions, Resampling
from judging.stats.ratings.connectivity import bounds_ties, connectivity
from judging.stats.ratings.counts import counts
from judging.stats.ratings.maximum_likelihood import fit
from judging.stats.votes import Outcome, Votes, votes

N = 5
SLOW = [HealthCheck.too_slow]
"""How quickly votes are drawn depends on what else this machine does."""


@some.composite
def any_votes(draw) -> Votes:
    pair = some.permutations(range(N)).map(lambda order: order[:2])
    vote = some.tuples(pair, some.sampled_from(Outcome), some.integers(0, 3), some.integers(0, 2), some.integers(-1, 1))
    told = draw(some.lists(vote, max_size=25))
    a, b, outcome, prompt, annotator, first = np.array(
        [(*sides, *rest) for sides, *rest in told], np.int64
    ).reshape(-1, 6).T  # fmt: skip
    return votes(tuple("abcde"), a, b, outcome, prompt, annotator, first)


def reach(edges: np.ndarray, start: int) -> set[int]:
    seen, todo = {start}, [start]
    while todo:
        new = set(np.flatnonzero(edges[todo.pop()]).tolist()) - seen
        seen |= new
        todo += new
    return seen


@given(any_votes())
@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
def test_groups_are_those_who_reach_each_other(made):
    edges = counts(made).scores > 0
    reached = [reach(edges, k) for k in range(N)]
    groups = {tuple(j for j in range(N) if j in reached[i] and i in reached[j]) for i in range(N)}
    assert set(connectivity(counts(made)).groups) == groups


@given(any_votes(), some.sampled_from(TIES), some.sampled_from(list(UNITS)), some.sampled_from([0.0, 0.5]))
@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
def test_every_number_is_one_and_who_has_none_is_named(made, ties, unit, prior):
    asked = RatingOptions(ties, "a", prior, resampling=Resampling(unit, 20))
    found = report("any", made, asked, "half", ["position"], Elo())
    json.dumps(found.to_json(), allow_nan=False)
    board, said = found.board, " ".join(found.board.sentences)
    assert sorted(one.contestant for one in board.standings) == list("abcde")
    for one in board.standings:
        alone = sum(other.group == one.group for other in board.standings) == 1
        if alone or one.rating is None:
            assert one.rating is None
            assert said
        else:
            assert math.isfinite(one.rating.value)
            assert one.rating.low is None or one.rating.low <= one.rating.high
    assert text(found, pairs=True).startswith("any: ")


@given(any_votes())
@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
def test_strengths_and_ties_are_found_wherever_they_exist(made):
    for members in connectivity(counts(made)).groups:
        own = counts(made.among(members))
        assert not fit(own).failed
        assert bool(fit(own, "davidson").failed) == (bool(own.ties.any()) and not bounds_ties(own))


@given(any_votes())
@settings(max_examples=25, deadline=None, suppress_health_check=SLOW)
def test_ratings_of_a_group_solve_the_equations_of_their_likelihood(made):
    found = report("any", made, RatingOptions(resampling=Resampling(resamples=2))).board
    for group in found.groups:
        own = counts(made.among(group.members))
        theta = group.fit.theta
        hoped = own.games / (1 + np.exp(theta[None, :] - theta[:, None]))
        assert own.scores.sum(axis=1) == pytest.approx((hoped - np.diag(np.diag(hoped))).sum(axis=1), abs=1e-6)
