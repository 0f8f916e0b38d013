import numpy as np
import pytest

from workers.analysis.smoothing import smooth


def by_hand(y, weight):
    out = []
    for t in range(len(y)):
        weights = np.array([weight ** (t - k) if np.isfinite(y[k]) else 0.0 for k in range(t + 1)])
        values = np.array([y[k] if np.isfinite(y[k]) else 0.0 for k in range(t + 1)])
        out.append((weights * values).sum() / weights.sum() if np.isfinite(y[t]) else np.nan)
    return out


@pytest.mark.parametrize("weight", [0.1, 0.6, 0.9, 0.99])
@pytest.mark.parametrize("n", [1, 2, 7, 300])
def test_it_is_the_weighted_mean_of_what_came_before(weight, n):
    y = np.random.default_rng(n).normal(size=n)
    assert smooth(y, weight) == pytest.approx(by_hand(y, weight), rel=1e-12)


def test_without_weight_nothing_changes():
    y = np.array([3.0, -1.0, 2.0])
    assert smooth(y, 0).tolist() == y.tolist()


def test_a_constant_stays_what_it_is_from_its_first_point_on():
    assert smooth(np.full(50, -40.0), 0.99) == pytest.approx(np.full(50, -40.0))


def test_what_is_not_a_number_counts_for_nothing_and_stays_a_gap():
    y = np.array([1.0, np.nan, 3.0, np.inf, 5.0])
    found = smooth(y, 0.5)
    assert np.isnan(found).tolist() == [False, True, False, True, False]
    assert found == pytest.approx(by_hand(y, 0.5), nan_ok=True)


def test_of_nothing_comes_nothing():
    assert smooth(np.zeros(0), 0.9).tolist() == []


@pytest.mark.parametrize("weight", [-0.1, 1, float("nan")])
def test_a_weight_out_of_range_is_refused(weight):
    with pytest.raises(ValueError, match="weight must be"):
        smooth(np.zeros(3), weight)
