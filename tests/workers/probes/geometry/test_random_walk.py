"""The null of the norm is right: moments of sums of our own noise, simulated; bands contain 95 % of pure noise."""

from __future__ import annotations

import math

import pytest
import torch

from tests.cases import each_case
from tests.workers.probes.geometry.subjects import SCALES, SHAPES, trail_of
from workers.engines.es.lineage import NoiseKind
from workers.engines.es.noise import make_noise
from workers.probes.geometry.random_walk import RandomWalk

NOISES = [NoiseKind("full", 1), NoiseKind("low_rank", 1), NoiseKind("low_rank", 3), NoiseKind("correlated", 1)]
REPEATS = 2000


def squared_norms(noise: NoiseKind, coefficients: list[list[float]], decay: float) -> dict[str, torch.Tensor]:
    """Return tensor -> ‖δ‖² of as many walks as REPEATS, from our noise of seeds that differ, float64."""
    count = sum(map(len, coefficients))
    squares = {}
    for name, shape in SHAPES.items():
        draws = noise.noise().draw(range(1, 1 + REPEATS * count), name, torch.empty(shape)).double()
        draws = draws.view(REPEATS, count, -1) * SCALES[name]
        delta, at = torch.zeros(REPEATS, draws.shape[2], dtype=torch.float64), 0
        for update in coefficients:
            for c in update:
                delta += c * draws[:, at]
                at += 1
            delta -= decay * delta
        squares[name] = delta.square().sum(1)
    return squares


@each_case("noise", NOISES, ids=lambda n: f"{n.kind}-{n.rank}")
@each_case("decay", [0.0, 0.3])
def test_bands_contain_95_percent_of_walks_of_pure_noise(noise: NoiseKind, decay: float) -> None:
    coefficients = [[0.5, -0.25, 0.1], [0.3, 0.7], [-0.2]]
    walk = RandomWalk.up_to(trail_of(noise, coefficients, decay), 3)
    squares = squared_norms(noise, coefficients, decay)
    inside = {}
    for name, simulated in squares.items():
        null = walk.tensor_null(name, SHAPES[name])
        assert null.value is not None and null.low is not None and null.high is not None
        error = float(simulated.std()) / math.sqrt(REPEATS)
        assert float(simulated.mean()) == pytest.approx(null.value**2, abs=4 * error)
        variance = walk._moments(name, SHAPES[name])[1]
        assert float(simulated.var()) == pytest.approx(variance, rel=0.2)
        inside[name] = float(((simulated >= null.low**2) & (simulated <= null.high**2)).double().mean())
    print(f"{noise.kind} rank {noise.rank} decay {decay}: inside the 95 % band {inside}")
    assert all(share == pytest.approx(0.95, abs=0.025) for share in inside.values())


@pytest.mark.parametrize("noise", NOISES[:3], ids=lambda n: f"{n.kind}-{n.rank}")
def test_band_of_the_model_contains_95_percent(noise: NoiseKind) -> None:
    coefficients = [[0.5, -0.25, 0.1], [0.3, 0.7]]
    null = RandomWalk.up_to(trail_of(noise, coefficients), 2).model_null(SHAPES)
    total = torch.stack(list(squared_norms(noise, coefficients, 0.0).values())).sum(0)
    assert null.low is not None and null.high is not None
    inside = float(((total >= null.low**2) & (total <= null.high**2)).double().mean())
    print(f"{noise.kind} rank {noise.rank}, model: inside {inside}")
    assert inside == pytest.approx(0.95, abs=0.025)


def test_correlated_noise_has_no_band_for_the_model() -> None:
    null = RandomWalk.up_to(trail_of(NoiseKind("correlated", 1), [[1.0]]), 1).model_null(SHAPES)
    assert null.value == pytest.approx(math.sqrt(240 + 17 * 0.25 + 30 * 4))
    assert null.low is None


def test_walk_ends_at_the_step() -> None:
    trail = trail_of(NoiseKind("full", 1), [[3.0], [4.0], [12.0]])
    assert [RandomWalk.up_to(trail, step).squares for step in (0, 1, 2, 3)] == [0, 9, 25, 169]


def test_tensors_that_the_run_does_not_train_have_no_null() -> None:
    walk = RandomWalk(make_noise("full"), SCALES, 1.0, 1.0)
    assert walk.tensor_null("other", (3,)).value is None
    assert walk.model_null({**SHAPES, "other": (3,)}).value is None
