import numpy as np
import pytest

from tests.cases import each_case
from workers.analysis.smoothing import Smoothing, smooth


def ema(weight):
    return Smoothing("ema", weight)


def by_hand(x, y, weight):
    """Return each point's mean of what came before, the weights written out; x in usual steps."""
    counts, values, out = np.isfinite(y), np.where(np.isfinite(y), y, 0.0), []
    for t in range(len(y)):
        weights = weight ** (x[t] - x[: t + 1]) * counts[: t + 1]
        out.append((weights * values[: t + 1]).sum() / weights.sum() if counts[t] else np.nan)
    return out


@each_case("weight", [0.1, 0.6, 0.9, 0.99])
@each_case("n", [1, 2, 7, 300])
def test_ema_is_weighted_mean_of_earlier_points(weight, n):
    y = np.random.default_rng(n).normal(size=n)
    assert smooth(10 * np.arange(n), y, ema(weight)) == pytest.approx(by_hand(np.arange(n), y, weight), rel=1e-12)


def test_ema_weighs_by_distance():
    x, y = np.array([0, 1, 2, 3, 10, 11, 12.0]), np.array([0, 0, 0, 0, 1, 1, 1.0])
    assert smooth(x, y, ema(0.9)) == pytest.approx(by_hand(x, y, 0.9))
    assert smooth(x, y, ema(0.9))[4] > smooth(np.arange(7.0), y, ema(0.9))[4]


@pytest.mark.parametrize("weight", [0.1, 0.9, 0.999])
def test_ema_handles_long_pauses_and_leading_gaps(weight):
    x, y = np.r_[0:5, 700:1000, 10**7 : 10**7 + 5].astype(float), np.random.default_rng(3).normal(size=310)
    y[[0, 1, 100]] = np.nan
    np.testing.assert_allclose(smooth(x, y, ema(weight)), by_hand(x, y, weight), rtol=1e-11)


@pytest.mark.parametrize("huge", [1e300, -1.7e308])
def test_huge_value_fades_in_ema(huge):
    y = np.ones(1200)
    y[3] = huge
    np.testing.assert_allclose(smooth(np.arange(1200.0), y, ema(0.5)), by_hand(np.arange(1200), y, 0.5), rtol=1e-9)


def test_points_at_same_x_are_averaged():
    assert smooth(np.zeros(2), np.array([1.0, 3.0]), ema(0.5)).tolist() == [1, 2]


def test_gaussian_smoothing_is_weighted_mean():
    y = np.random.default_rng(1).normal(size=200)
    bell = np.exp(-0.5 * ((np.arange(200) - 100) / 5) ** 2)
    bell[np.abs(np.arange(200) - 100) > 20] = 0
    assert smooth(np.arange(200.0), y, Smoothing("gaussian", 5))[100] == pytest.approx((bell * y).sum() / bell.sum())


def test_median_smoothing_uses_surrounding_points():
    y = np.random.default_rng(2).normal(size=60)
    smoothed = smooth(np.arange(60.0), y, Smoothing("median", 9))
    assert smoothed.tolist() == [np.median(y[max(0, i - 4) : i + 5]) for i in range(60)]


@pytest.mark.parametrize("smoothing", [ema(0.99), Smoothing("gaussian", 5), Smoothing("median", 9)])
def test_smoothing_keeps_a_constant(smoothing):
    assert smooth(np.arange(50.0), np.full(50, -40.0), smoothing) == pytest.approx(np.full(50, -40.0))


def test_zero_smoothing_changes_nothing():
    y = np.array([3.0, -1.0, 2.0])
    assert smooth(np.arange(3.0), y, Smoothing()).tolist() == y.tolist()
    assert not Smoothing()


@pytest.mark.parametrize("smoothing", [ema(0.5), Smoothing("gaussian", 1), Smoothing("median", 3)])
def test_smoothing_keeps_gaps(smoothing):
    y = np.array([1.0, np.nan, 3.0, np.inf, 5.0])
    smoothed = smooth(np.arange(5.0), y, smoothing)
    assert np.isnan(smoothed).tolist() == [False, True, False, True, False]
    assert (smoothed[[0, 2, 4]] >= 1).all() and (smoothed[[0, 2, 4]] <= 5).all()


def test_smoothing_of_no_points_is_empty():
    assert smooth(np.zeros(0), np.zeros(0), ema(0.9)).tolist() == []
    assert np.isnan(smooth(np.arange(2.0), np.full(2, np.nan), ema(0.9))).all()


@pytest.mark.parametrize("text", ["0", "0.9", "gaussian-5", "median-9"])
def test_smoothing_round_trips_through_text(text):
    assert str(Smoothing.parse(text)) == text


@each_case("text", ["-0.1", "1", "nan", "much", "median-4", "median-0", "gaussian-0", "gaussian-126", ""])
def test_invalid_smoothing_is_refused_with_choices(text):
    with pytest.raises(ValueError, match=r"a number from 0 to 0.999, gaussian-N \(N up to 125\) or median-N"):
        Smoothing.parse(text)
