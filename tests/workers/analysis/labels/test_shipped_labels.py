"""The labels that come with the project: complete, by two readers, and with the agreement that their page states."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.analysis.labels import EXCLUSIVE_KINDS, compare_readers, final_labels, read_labels

FOLDER = Path(__file__).parents[4] / "docs" / "studies" / "labels"


@pytest.mark.parametrize(("name", "responses"), [("smollm2", 400), ("facts", 200)])
def test_shipped_labels_have_two_readings_and_a_final_verdict_each(name: str, responses: int) -> None:
    labels = read_labels(FOLDER / f"{name}.csv")
    final = final_labels(labels)
    assert len(final) == responses
    assert all(label.readers == 2 and label.verdict and not label.is_disputed for label in final.values())
    assert not any(len(label.kinds & set(EXCLUSIVE_KINDS)) > 1 for label in labels)
    (pair,) = compare_readers(labels)
    assert pair.n == responses
    assert pair.kappa.value is not None and pair.kappa.value >= 0.8
