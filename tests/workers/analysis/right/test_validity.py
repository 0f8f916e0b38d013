"""The committed figures of validity are those of the labels, and the guide's table is made from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import beta

from tests.guides.tables import compare_with_guide
from tests.workers.analysis.right.labelled_responses import SETS, counted_cells, labelled_responses
from workers.analysis.right.validity import CELLS, HELD_OUT, LENGTHS, TUNING, Share, length_class, validity

GUIDE = Path(__file__).resolve().parents[4] / "docs" / "guides" / "right.md"
MEASURES = ("right", "contains", "exact")


def test_committed_counts_equal_those_of_the_labels() -> None:
    assert counted_cells() == CELLS


def test_every_labelled_response_is_in_one_cell() -> None:
    counted = sum(cell.right + cell.wrong for cell in CELLS)
    assert counted == sum(1 for _ in labelled_responses()) >= 590
    halves = [sum(cell.right + cell.wrong for cell in CELLS if cell.half == half) for half in (HELD_OUT, TUNING)]
    assert sum(halves) == counted and min(halves) > 0.4 * counted


def test_interval_is_that_of_clopper_and_pearson() -> None:
    low, high = Share(51, 53).interval or (0.0, 0.0)
    assert (low, high) == pytest.approx((beta.ppf(0.025, 51, 3), beta.ppf(0.975, 52, 2)), abs=1e-9)
    assert str(Share(0, 0)) == "–" and Share(0, 0).value is None


def test_right_is_more_valid_than_the_other_measures() -> None:
    """No measure is better in both, and `right` is better in their sum, on responses that it was not tuned on."""
    right, *others = ((v.sensitivity.value or 0) + (v.specificity.value or 0) for v in map(validity, MEASURES))
    assert right > max(others) + 0.05


def test_length_classes_have_their_limits() -> None:
    assert [length_class(" " + "a" * n) for n in (0, 10, 11, 60, 61)] == ["≤ 10", "≤ 10", "11–60", "11–60", "> 60"]


def test_guide_has_the_validity_of_each_measure() -> None:
    columns = " | ".join(f"`{m}`: sensitivity | specificity" for m in MEASURES)
    rows = [f"| responses | characters | labelled right, wrong | {columns} |", "|---" * 9 + "|"]
    for name, half, of_set in (("both sets", HELD_OUT, ""), *((f"`{s}`", HELD_OUT, s) for s in SETS)):
        rows += [_row(name, half, of_set, length) for length in ("", *LENGTHS)]
    rows.append(_row("the half of the tuning", TUNING, "", ""))
    compare_with_guide(GUIDE, "validity", "\n".join(rows))


def _row(name: str, half: str, of_set: str, length: str) -> str:
    validities = [validity(measure, half, of_set, length) for measure in MEASURES]
    counts = f"{validities[0].sensitivity.n}, {validities[0].specificity.n}"
    cells = " | ".join(f"{v.sensitivity} | {v.specificity}" for v in validities)
    return f"| {name} | {length or 'any'} | {counts} | {cells} |"
