"""The area under the ROC curve, its interval, and the limit for false alarms."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from workers.analysis.roc import auc, auc_interval, limit_of_false_alarms


def test_auc_counts_the_pairs_that_are_in_order() -> None:
    assert auc([3, 4], [1, 2]) == 1
    assert auc([1, 2], [3, 4]) == 0
    assert auc([1, 3], [2, 0]) == 0.75
    assert auc([1], [1, 1]) == 0.5


def test_auc_needs_both_groups() -> None:
    with pytest.raises(ValueError, match="0 negatives"):
        auc([1], [])


def test_interval_holds_the_area_and_has_a_width_at_the_ends() -> None:
    low, high = auc_interval(1.0, 10, 20)
    assert 0.8 < low < 0.9
    assert high == 1.0
    assert auc_interval(0.0, 20, 10) == pytest.approx((0.0, 1 - low), abs=1e-9)
    middle = auc_interval(0.5, 10, 20)
    assert middle[0] == pytest.approx(1 - middle[1], abs=1e-9)


def test_interval_narrows_with_more_runs_and_widens_with_confidence() -> None:
    wide, narrow = auc_interval(0.8, 10, 10), auc_interval(0.8, 100, 100)
    assert wide[0] < narrow[0] < 0.8 < narrow[1] < wide[1]
    assert auc_interval(0.8, 10, 10, 0.99)[0] < wide[0]


@pytest.mark.parametrize("arguments", [(1.1, 5, 5), (0.5, 0, 5), (0.5, 5, 0)])
def test_interval_refuses_what_is_no_area(arguments: tuple[float, int, int]) -> None:
    with pytest.raises(ValueError, match="needs"):
        auc_interval(*arguments)


@pytest.mark.parametrize("area", [0.5, 0.8, 0.95])
def test_interval_covers_the_area_of_normal_scores(area: float) -> None:
    rng, positives, negatives, draws = np.random.default_rng(1), 12, 28, 2000
    distance = NormalDist().inv_cdf(area) * math.sqrt(2)
    positive = rng.normal(distance, 1, (draws, positives, 1))
    areas = (positive > rng.normal(0, 1, (draws, 1, negatives))).mean(axis=(1, 2))
    limits = {value: auc_interval(float(value), positives, negatives) for value in np.unique(areas)}
    covered = sum(limits[value][0] <= area <= limits[value][1] for value in areas)
    # 2000 draws have a standard error of half a percent.
    assert covered / draws > 0.935


def test_limit_is_exceeded_by_the_allowed_share() -> None:
    scores = list(range(40))
    limit = limit_of_false_alarms(scores)
    assert limit == 37
    assert sum(score > limit for score in scores) == 2
    assert limit_of_false_alarms([1.0] * 40) == 1.0


def test_limit_is_not_stated_from_too_few_negatives() -> None:
    assert limit_of_false_alarms(range(19)) is None
    assert limit_of_false_alarms(range(20)) == 18
