"""Textbook data sets give the textbooks' figures."""

from __future__ import annotations

import numpy as np
import pytest

from judging.stats.ratings import controlled_ratings
from judging.stats.ratings.maximum_likelihood import fit
from tests.judging.published_votes import baseball, citations, needs_data, pudding

pytestmark = needs_data


def test_journal_citations_match_stigler():
    journals, counts = citations()
    theta = fit(counts).theta
    above = dict(zip(journals, theta - theta[journals.index("Biometrika")], strict=True))
    assert above == pytest.approx(
        {"Biometrika": 0, "Comm Statist": -2.94907, "JASA": -0.47957, "JRSS-B": 0.26895}, abs=5e-6
    )


def test_baseball_and_home_effect_match_agresti():
    votes = baseball()
    estimate = controlled_ratings(votes, ["position"])
    above = dict(
        zip(votes.contestants, estimate.theta - estimate.theta[votes.contestants.index("Baltimore")], strict=True)
    )
    assert above == pytest.approx(
        {"Baltimore": 0, "Boston": 1.1438, "Cleveland": 0.7047, "Detroit": 1.4754, "Milwaukee": 1.6196,
         "New York": 1.2813, "Toronto": 1.3271}, abs=5e-5,
    )  # fmt: skip
    home = estimate.effects["position"]
    assert (round(home.value, 4), round(home.naive, 4)) == (0.3023, 0.1309)


def test_puddings_match_davidson():
    estimate = fit(pudding(), "davidson")
    strength = np.exp(estimate.theta)
    assert (strength / strength.sum()).round(4).tolist() == [0.1388, 0.1730, 0.1617, 0.1654, 0.1587, 0.2024]
    assert estimate.nu.round(4) == 0.7468


def test_half_wins_draw_puddings_together():
    half, own = fit(pudding()).theta, fit(pudding(), "davidson").theta
    assert (half @ own) / (own @ own) == pytest.approx(0.73, abs=0.005)
