"""Fitness -> weights, by numbers done by hand."""

from __future__ import annotations

import math

import pytest

from workers.engines.es.perturbation import directions
from workers.engines.es.shaping import shape_fitness


def test_z_scores_use_the_populations_standard_deviation() -> None:
    root = math.sqrt(1.25)
    assert shape_fitness([1, 2, 3, 4], "z_score") == pytest.approx([-1.5 / root, -0.5 / root, 0.5 / root, 1.5 / root])


def test_centred_ranks_are_even_and_shared_by_equals() -> None:
    assert shape_fitness([10, -5, 1000], "centred_ranks") == [0.0, -0.5, 0.5]
    assert shape_fitness([1, 2, 2, 3], "centred_ranks") == pytest.approx([-0.5, 0.0, 0.0, 0.5])


@pytest.mark.parametrize("method", ["z_score", "centred_ranks"])
def test_equal_members_have_no_weight(method: str) -> None:
    assert shape_fitness([0.1 + 0.2] * 3, method) == [0.0, 0.0, 0.0]  # type: ignore[arg-type]
    assert directions([1, 2, 3], [0.0, 0.0, 0.0], 0.5) == {}


def test_directions_are_alpha_over_n_times_z_over_those_that_count() -> None:
    assert directions([1, 2, 3], [1.0, -1.0, None], 0.5) == {1: 0.25, 2: -0.25}


def test_a_mirrored_member_counts_against_its_twin() -> None:
    assert directions([7, -7], [1.0, -1.0], 0.5) == {7: 0.5}
    assert directions([7, -7], [1.0, 1.0], 0.5) == {}


@pytest.mark.parametrize("method", ["z_score", "centred_ranks"])
@pytest.mark.parametrize("size", [0.0, 1.0, -500.0])
def test_fitness_that_differs_by_rounding_makes_no_step(method: str, size: float) -> None:
    rounded = [size, size + 1e-12 * max(1, abs(size)), size - 3e-12 * max(1, abs(size))]
    assert len(set(rounded)) == 3
    assert shape_fitness(rounded, method) == [0.0, 0.0, 0.0]  # type: ignore[arg-type]


def test_fitness_that_differs_by_more_than_the_tolerance_weighs_as_before() -> None:
    assert shape_fitness([1e-6, 3e-6], "z_score") == pytest.approx([-1, 1])
    assert shape_fitness([1e-6, 3e-6], "centred_ranks") == [-0.5, 0.5]


def test_centred_ranks_of_values_that_differ_by_rounding_are_shared() -> None:
    assert shape_fitness([1, 2 + 1e-12, 2, 3], "centred_ranks") == pytest.approx([-0.5, 0.0, 0.0, 0.5])
