"""Kappa and alpha are what statsmodels and evalica compute."""

from __future__ import annotations

from dataclasses import replace

import evalica
import numpy as np
import pandas as pd
import pytest
from statsmodels.stats import inter_rater

from judging.stats.agreement import Labels, overall_agreement
from judging.stats.agreement.alpha import alpha, coincidences
from judging.stats.agreement.labels import NO_LABEL
from judging.stats.agreement.raters import cross_tables
from tests.cases import each_case
from tests.judging.synthetic_votes import table
from workers.analysis.kappa import cohen_kappa


def make_labels(raters: int, items: int, missing: float = 0.0, noise: float = 0.4, seed: int = 0) -> Labels:
    """Return labels of raters who see the same truth with independent noise."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, items)
    values = np.where(rng.random((raters, items)) < noise, rng.integers(0, 3, (raters, items)), truth)
    values[rng.random((raters, items)) < missing] = NO_LABEL
    return table(values, np.arange(items) // 3)


def label_rows(labels: Labels) -> np.ndarray:
    return np.stack([labels.row(rater) for rater in range(len(labels.raters))])


@each_case("seed", range(3))
def test_cohens_kappa(seed):
    table = cross_tables(make_labels(2, 200, seed=seed), 0, 1).sum(axis=0)
    assert float(cohen_kappa(table)) == pytest.approx(inter_rater.cohens_kappa(table).kappa, abs=1e-9)


@each_case("raters", [2, 3, 7])
def test_fleisss_kappa(raters):
    labels = make_labels(raters, 150)
    assert overall_agreement(labels).fleiss == pytest.approx(inter_rater.fleiss_kappa(labels.rated()), abs=1e-9)


@each_case("distance", ["nominal", "ordinal"])
@each_case(("raters", "missing"), [(2, 0.0), (4, 0.3), (9, 0.7)])
def test_krippendorffs_alpha(distance, raters, missing):
    labels = make_labels(raters, 120, missing)
    frame = pd.DataFrame(np.where((rows := label_rows(labels)) == NO_LABEL, np.nan, rows))
    ours = float(alpha(coincidences(labels).sum(axis=0), distance))
    assert ours == pytest.approx(evalica.alpha(frame, distance).alpha, abs=1e-9)


def test_krippendorffs_own_example():
    # "Computing Krippendorff's Alpha-Reliability" (2011), section C: four observers, twelve units, five values.
    rows = ["1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 ."]
    values = np.array([[NO_LABEL if cell == "." else int(cell) - 1 for cell in row.split()] for row in rows])
    labels = replace(table(values), kinds=5)
    summed = coincidences(labels).sum(axis=0)
    assert float(alpha(summed, "nominal")) == pytest.approx(0.743, abs=5e-4)
    assert float(alpha(summed, "ordinal")) == pytest.approx(0.815, abs=5e-4)
