"""Cosines and overlaps of changes with known angles and subspaces; nulls contain what independent changes give."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.workers.probes.geometry.subjects import SCALES, SHAPES, subject_of, values_of
from workers.engines.es.lineage import NoiseKind
from workers.probes.geometry import cosine, overlap
from workers.probes.geometry.cosine import whole_variance
from workers.probes.weights import Subject, WeightsDiffer


def test_cosines_of_known_angles(tmp_path: Path) -> None:
    base = {"a": torch.zeros(2), "b": torch.zeros(2, 2), "frozen": torch.ones(5)}
    first = subject_of(tmp_path, base, {"a": torch.tensor([1.0, 0.0]), "b": torch.eye(2)}, "one")
    others = {"a": torch.tensor([1.0, 1.0]), "b": -2 * torch.eye(2), "frozen": torch.ones(5)}
    # The second has a base of its own.
    second = subject_of(tmp_path, {name: tensor + 1 for name, tensor in base.items()}, others, "two")
    (probe,) = cosine(first, second)
    assert (probe.subject, probe.other, probe.step) == ("one@4", "two@4", 4)
    values = {v.tensor: v for v in probe.values}
    assert {name: v.value for name, v in values.items()} == {
        "": pytest.approx((1 - 4) / math.sqrt(3) / math.sqrt(2 + 8 + 5)),
        "a": pytest.approx(math.sqrt(0.5)),
        "b": pytest.approx(-1),
    }
    assert values["b"].n == 4 and values["b"].null_high == pytest.approx(1.95996 / 2, rel=1e-5)


def test_independent_changes_lie_in_the_band(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(2)
    base = {f"t{i:03}": torch.zeros(100) for i in range(200)}
    subjects = [
        subject_of(tmp_path, base, {name: torch.randn(100, generator=generator) for name in base}, name)
        for name in ("one", "two")
    ]
    values = [v for v in values_of(cosine(*subjects))["cosine"].values() if v.tensor]
    inside = sum(v.null_low <= v.value <= v.null_high for v in values)  # type: ignore[operator]
    print(f"{inside} of {len(values)} cosines inside")
    assert 180 <= inside <= 198


@pytest.mark.parametrize(("kind", "other"), [("correlated", "correlated"), ("correlated", "full"), ("full", "full")])
def test_variance_for_the_whole_model_is_that_of_simulated_noise(kind: str, other: str) -> None:
    sizes = np.array([math.prod(shape) for shape in SHAPES.values()], dtype=np.float64)
    changes = [simulated_changes(NoiseKind(kind, 1), 1), simulated_changes(NoiseKind(other, 1), 5001)]  # type: ignore[arg-type]
    squares, other_squares = (
        np.array([float(delta.square().sum(1).mean()) for delta in deltas.values()]) for deltas in changes
    )
    one, two = (torch.cat(list(deltas.values()), dim=1) for deltas in changes)
    simulated = float((one * two).sum(1).var()) / squares.sum() / other_squares.sum()
    is_shared = kind == other == "correlated"
    assert whole_variance(sizes, squares, other_squares, is_shared=is_shared) == pytest.approx(simulated, rel=0.08)
    independent = whole_variance(sizes, squares, other_squares, is_shared=False)
    assert (simulated > 1.2 * independent) == is_shared


def simulated_changes(noise: NoiseKind, first_seed: int) -> dict[str, torch.Tensor]:
    """Return tensor -> 4000 independent changes of it, float64 [4000, elements], with other scales for each tensor."""
    seeds = range(first_seed, first_seed + 4000)
    draws = {name: noise.noise().draw(seeds, name, torch.empty(shape)) for name, shape in SHAPES.items()}
    return {name: draw.double().flatten(1) * SCALES[name] for name, draw in draws.items()}


def test_tensors_of_one_scale_have_the_variance_of_all_elements() -> None:
    sizes = np.array([4.0, 12.0])
    assert whole_variance(sizes, 2 * sizes, 3 * sizes, is_shared=False) == pytest.approx(1 / 16)
    # Of 12 numbers, 4 occur twice: (4 · 2² + 8 · 1²) / 16².
    assert whole_variance(sizes, 2 * sizes, 3 * sizes, is_shared=True) == pytest.approx(24 / 256)


def test_other_architectures_are_refused(tmp_path: Path) -> None:
    first = subject_of(tmp_path, {"a": torch.zeros(2, 3)}, {}, "one")
    second = subject_of(tmp_path, {"a": torch.zeros(3, 2)}, {}, "two")
    for probes in (cosine(first, second), overlap(first, second, 2, 4, 0)):
        with pytest.raises(WeightsDiffer, match="a has the shape"):
            list(probes)


def matrix_of(left: list[int], right: list[int], values: list[float], shape: tuple[int, int]) -> torch.Tensor:
    """Return a matrix whose singular vectors are axes."""
    matrix = torch.zeros(shape)
    for row, column, value in zip(left, right, values, strict=True):
        matrix[row, column] = value
    return matrix


@pytest.mark.parametrize("shape", [(12, 8), (8, 12)])
def test_overlaps_of_known_subspaces(tmp_path: Path, shape: tuple[int, int]) -> None:
    base = {"w": torch.zeros(shape), "v": torch.zeros(4)}
    one = matrix_of([0, 1, 2], [3, 4, 5], [9.0, 8.0, 1.0], shape)
    # The first two left axes are {0, 6}, one of which the first has; the right ones are {4, 3}, as in the first.
    other = matrix_of([0, 6, 1], [4, 3, 5], [5.0, -4.0, 0.5], shape)
    subjects = [subject_of(tmp_path, base, {"w": d}, name) for name, d in (("one", one), ("two", other))]
    measures = values_of(overlap(*subjects, 2, 50, 0))
    assert measures["overlap_out"]["w"].value == pytest.approx(0.5)
    assert measures["overlap_in"]["w"].value == pytest.approx(1)
    assert measures["overlap_out"]["w"].null == pytest.approx(2 / shape[0])
    assert measures["overlap_in"]["w"].null == pytest.approx(2 / shape[1])


def test_only_directions_that_changed_count(tmp_path: Path) -> None:
    base = {"w": torch.zeros(10, 10)}
    one, other = (torch.outer(torch.eye(10)[i], torch.ones(10)) for i in (0, 0))
    subjects = [subject_of(tmp_path, base, {"w": d}, name) for name, d in (("one", one), ("two", 3 * other))]
    measures = values_of(overlap(*subjects, 4, 50, 0))
    assert measures["overlap_out"]["w"].value == pytest.approx(1)
    # One direction each, although four were wanted.
    assert measures["overlap_out"]["w"].null == pytest.approx(1 / 10)
    frozen = subject_of(tmp_path, base, {}, "frozen")
    assert list(overlap(subjects[0], frozen, 4, 50, 0)) == []


def random_subject(root: Path, name: str, seed: int) -> Subject:
    generator = torch.Generator().manual_seed(seed)
    base = {f"m{i:02}": torch.zeros(30, 20) for i in range(80)}
    return subject_of(root, base, {key: torch.randn(30, 20, generator=generator) for key in base}, name)


def test_overlaps_of_independent_changes_lie_in_the_band(tmp_path: Path) -> None:
    measures = values_of(overlap(random_subject(tmp_path, "one", 1), random_subject(tmp_path, "two", 2), 4, 200, 0))
    for measure, values in measures.items():
        inside = sum(v.null_low <= v.value <= v.null_high for v in values.values())  # type: ignore[operator]
        print(f"{measure}: {inside} of {len(values)} inside")
        assert inside >= 70
