"""The exponent of growth, and how often its interval contains the exponent of random walks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy import stats

from tests import soak_plugin
from workers.engines.es.noise import make_noise
from workers.probes.geometry.growth import growth_exponent
from workers.probes.geometry.random_walk import RandomWalk
from workers.records import ProbeValue

STEPS = 12
SHAPES = {"a": (4, 4), "b": (8,)}
DIMENSIONS = 24
WALKS = 4000 if soak_plugin.SECONDS else 400
"""Number of walks of each kind."""
KINDS: dict[str, tuple[float, float]] = {"equal steps": (0.0, 0.0), "random": (1.0, 0.0), "decay": (0.0, 0.2)}
"""Kind of walk -> the standard deviation of the logarithms of its coefficients, and its decay."""


def walks_of(coefficients: Sequence[float], decay: float) -> Callable[[int], RandomWalk]:
    """Return the walk up to each step, of one member with this coefficient a step."""

    def up_to(step: int) -> RandomWalk:
        squares = fourths = 0.0
        for c in coefficients[:step]:
            squares, fourths = (1 - decay) ** 2 * (squares + c**2), (1 - decay) ** 4 * (fourths + c**4)
        return RandomWalk(make_noise("full"), {"a": 1.0, "b": 1.0}, squares, fourths, (1 - decay) ** step)

    return up_to


def curve_of(rng: np.random.Generator, coefficients: Sequence[float], decay: float) -> list[ProbeValue]:
    """Return the norms of a walk whose vectors are drawn one by one."""
    position, curve = np.zeros(DIMENSIONS), []
    for step, c in enumerate(coefficients, 1):
        position = (1 - decay) * (position + c * rng.standard_normal(DIMENSIONS))
        curve.append(ProbeValue(float(np.linalg.norm(position)), DIMENSIONS, x=float(step)))
    return curve


def test_slope_equals_that_of_scipy() -> None:
    curve = [ProbeValue(y, 1, x=x) for x, y in ((1.0, 1.1), (2.0, 1.7), (4.0, 3.1), (8.0, 3.9))]
    line = stats.linregress([math.log(v.x or 0) for v in curve], [math.log(v.value) for v in curve])
    exponent = growth_exponent(curve, None, SHAPES)
    assert exponent is not None
    assert exponent.value == pytest.approx(line.slope)
    assert (exponent.low, exponent.null, exponent.null_low) == (None, 0.5, None)
    assert growth_exponent(curve[:2], None, SHAPES) is None


@pytest.mark.parametrize("kind", KINDS)
def test_interval_covers_the_exponent_of_random_walks(kind: str) -> None:
    spread, decay = KINDS[kind]
    rng = np.random.default_rng(soak_plugin.seed(5))
    coefficients = np.exp(spread * rng.standard_normal(STEPS)).tolist()
    walk_up_to = walks_of(coefficients, decay)
    covered = inside = 0
    other_walks = [growth(curve_of(rng, coefficients, decay), None).value for _ in range(4 * WALKS)]
    expected = float(np.median(other_walks))
    for _ in range(WALKS):
        exponent = growth(curve_of(rng, coefficients, decay), walk_up_to)
        assert exponent.low is not None and exponent.high is not None
        assert exponent.null_low is not None and exponent.null_high is not None
        covered += exponent.low <= expected <= exponent.high
        inside += exponent.null_low <= exponent.value <= exponent.null_high
    print(f"\nexponent of growth, {kind}: n = {WALKS}, {covered / WALKS:.1%} covered, {inside / WALKS:.1%} in the band")
    tolerance = 4 * math.sqrt(0.95 * 0.05 / WALKS)
    assert abs(covered / WALKS - 0.95) < tolerance
    assert abs(inside / WALKS - 0.95) < tolerance


def test_steady_drift_lies_outside_of_the_band() -> None:
    curve = [ProbeValue(float(step), DIMENSIONS, x=float(step)) for step in range(1, STEPS + 1)]
    exponent = growth(curve, walks_of([1.0] * STEPS, 0.0))
    assert exponent.null_high is not None
    assert exponent.value == pytest.approx(1) and exponent.null_high < 0.8


def growth(curve: Sequence[ProbeValue], walk_up_to: Callable[[int], RandomWalk] | None) -> ProbeValue:
    exponent = growth_exponent(curve, walk_up_to, SHAPES)
    assert exponent is not None
    return exponent
