"""Cosines and overlaps of changes with known angles and subspaces; nulls contain what independent changes give."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from tests.workers.probes.geometry.subjects import subject_of, values_of
from workers.probes.geometry import cosine, overlap
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
