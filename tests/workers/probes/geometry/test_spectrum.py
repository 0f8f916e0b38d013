"""Ranks and densities of changes that are known; their nulls contain what Gaussian matrices give."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.workers.probes.geometry.subjects import SHAPES, subject_of, trail_of, values_of
from workers.engines.es.lineage import NoiseKind
from workers.probes.geometry import spectrum
from workers.probes.geometry.changes import ELEMENTS_PER_PIECE, gram, open_changes
from workers.probes.geometry.spectrum import gaussian_gram, ranks_of


def orthogonal(size: int, seed: int) -> torch.Tensor:
    return torch.linalg.qr(torch.randn(size, size, generator=torch.Generator().manual_seed(seed)))[0]


def test_ranks_of_known_singular_values(tmp_path: Path) -> None:
    singular = torch.zeros(6, 9)
    singular[range(3), range(3)] = torch.tensor([4.0, 2.0, 2.0])
    delta = orthogonal(6, 0) @ singular @ orthogonal(9, 1)
    base = {"wide": torch.zeros(6, 9), "tall": torch.zeros(9, 6), "frozen": torch.ones(4, 4), "line": torch.zeros(1, 5)}
    subject = subject_of(tmp_path, base, {"wide": delta, "tall": delta.T, "line": torch.ones(1, 5)})
    measures = values_of(spectrum(subject, 4, 0))
    # Shares 1/2, 1/4, 1/4 have the entropy 1.5 ln 2.
    for name in ("wide", "tall"):
        assert measures["effective_rank"][name].value == pytest.approx(2**1.5, rel=1e-4)
        assert measures["stable_rank"][name].value == pytest.approx(24 / 16, rel=1e-4)
    assert measures["effective_rank"].keys() == {"wide", "tall"}
    assert measures["density"].keys() == {"", "wide", "tall", "line"}
    assert measures["unchanged"]["frozen"].value == 1


def test_density_and_unchanged_of_known_elements(tmp_path: Path) -> None:
    base = {"even": torch.zeros(10), "single": torch.zeros(10)}
    deltas = {"even": torch.tensor([2.0, -2.0] * 5), "single": torch.eye(10)[3]}
    measures = values_of(spectrum(subject_of(tmp_path, base, deltas), 4, 0))
    density, unchanged = measures["density"], measures["unchanged"]
    assert [density[name].value for name in ("even", "single")] == pytest.approx([1, 0.1])
    assert density[""].value == pytest.approx(21**2 / (20 * 41))
    assert [unchanged[name].value for name in ("", "even", "single")] == pytest.approx([9 / 20, 0, 9 / 10])
    assert density[""].n == 20 and unchanged[""].n == 20


def test_gaussian_changes_lie_in_the_null_bands(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(5)
    base = {f"m{i:02}": torch.zeros(24, 40) for i in range(60)}
    deltas = {name: torch.randn(24, 40, generator=generator) for name in base}
    measures = values_of(spectrum(subject_of(tmp_path, base, deltas), 100, 1))
    shares = {}
    for measure in ("effective_rank", "stable_rank", "density"):
        values = [
            v for v in measures[measure].values() if v.tensor and v.null_low is not None and v.null_high is not None
        ]
        shares[measure] = sum(v.null_low <= v.value <= v.null_high for v in values) / len(values)  # type: ignore[operator]
    print(f"inside the null bands: {shares}")
    assert all(share >= 0.87 for share in shares.values())


def test_density_of_normal_numbers_has_the_mean_and_variance_of_its_null(tmp_path: Path) -> None:
    n = 200
    z = np.random.default_rng(0).standard_normal((20_000, n))
    densities = np.abs(z).sum(1) ** 2 / (n * (z**2).sum(1))
    subject = subject_of(
        tmp_path, {"a": torch.zeros(n)}, {"a": torch.randn(n, generator=torch.Generator().manual_seed(0))}
    )
    value = values_of(spectrum(subject, 2, 0))["density"]["a"]
    assert value.null == pytest.approx(densities.mean(), abs=4 * densities.std() / math.sqrt(20_000))
    assert value.null_high is not None and value.null is not None
    assert (value.null_high - value.null) / 1.96 == pytest.approx(densities.std(), rel=0.03)


def test_gram_of_a_gaussian_matrix_without_the_matrix_has_the_same_ranks_on_average() -> None:
    generator = np.random.default_rng(3)
    direct = [ranks_of(torch.from_numpy(x.T @ x)) for x in (generator.standard_normal((50, 12)) for _ in range(400))]
    indirect = [ranks_of(gaussian_gram(50, 12, generator)) for _ in range(400)]
    for kind in ("effective", "stable"):
        one, other = (np.array([getattr(r, kind) for r in ranks]) for ranks in (direct, indirect))
        error = math.hypot(one.std(), other.std()) / math.sqrt(400)
        assert one.mean() == pytest.approx(other.mean(), abs=4 * error)
        assert one.std() == pytest.approx(other.std(), rel=0.2)


def test_gram_of_a_matrix_of_several_pieces_equals_the_product(tmp_path: Path) -> None:
    rows, columns = 2500, ELEMENTS_PER_PIECE // 1000
    delta = torch.randn(rows, 3) @ torch.randn(3, columns)
    with open_changes(subject_of(tmp_path, {"a": torch.zeros(rows, columns)}, {"a": delta})) as changes:
        assert len(list(changes.pieces("a"))) == 3
        product = gram(changes, "a")
        assert torch.equal(changes.delta("a"), delta)
        assert torch.equal(changes.elements("a", 5000, 5007), delta.flatten()[5000:5007])
    assert torch.allclose(product[:5, :5], delta[:5].double() @ delta[:5].double().T)


@pytest.mark.parametrize("kind", ["full", "correlated"])
def test_shared_noise_leaves_the_density_of_the_whole_model_without_a_band(tmp_path: Path, kind: str) -> None:
    base = {name: torch.zeros(shape) for name, shape in SHAPES.items()}
    deltas = {name: torch.randn(shape, generator=torch.Generator().manual_seed(0)) for name, shape in SHAPES.items()}
    trail = trail_of(NoiseKind(kind, 1), [[1.0]])  # type: ignore[arg-type]
    densities = values_of(spectrum(subject_of(tmp_path, base, deltas, trail=trail), 2, 0))["density"]
    assert (densities[""].null_low is None) == (densities[""].null_high is None) == (kind == "correlated")
    assert all(value.null_low is not None for name, value in densities.items() if name)
