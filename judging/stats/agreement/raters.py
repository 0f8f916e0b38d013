"""Agreement of every two raters, and of all raters together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judging.stats.agreement.alpha import alpha, coincidences
from judging.stats.agreement.labels import NO_LABEL, TIE, Labels
from judging.stats.votes import Floats
from workers.analysis.kappa import cohen_kappa, raw_agreement
from workers.analysis.resampling import Estimate, estimate_statistic

ONE_LABEL = "n/a: chance alone agrees always where one label is all that was used"
NOTHING_SHARED = "n/a: there is no item that both judged"
NO_DECISION = "n/a: there is no item that both decided"


@dataclass(frozen=True)
class Pair:
    """Agreement of two raters on the items that both judged.

    without_ties: on the items that both decided. tie_rates: of each rater; a kappa cannot be interpreted without them.
    """

    raters: tuple[str, str]
    items: int
    raw: Estimate
    without_ties: Estimate
    kappa: Estimate
    tie_rates: tuple[float, float]


@dataclass(frozen=True)
class OverallAgreement:
    """Agreement of all raters. fleiss: None if the items have different numbers of raters. tie_rate: of all labels."""

    items: int
    alpha_nominal: Estimate
    alpha_ordinal: Estimate
    fleiss: float | None
    tie_rate: float


def compare_all_raters(labels: Labels) -> list[Pair]:
    """Compare each pair of raters, also pairs without a shared item."""
    return [compare_raters(labels, first, second) for first, second in combinations(range(len(labels.raters)), 2)]


def compare_raters(labels: Labels, first: int, second: int) -> Pair:
    """Compare rater number `first` with rater number `second`."""
    tables = cross_tables(labels, first, second)
    shared = np.flatnonzero(tables.any(axis=(1, 2)))
    tables, prompt = tables[shared], labels.prompt[shared]
    decided = np.delete(np.delete(tables, TIE, axis=1), TIE, axis=2)
    size = max(len(shared), 1)
    return Pair(
        (labels.raters[first], labels.raters[second]),
        len(shared),
        estimate_statistic(tables, prompt, raw_agreement, NOTHING_SHARED),
        estimate_statistic(decided, prompt, raw_agreement, NO_DECISION),
        estimate_statistic(tables, prompt, cohen_kappa, ONE_LABEL if len(shared) else NOTHING_SHARED),
        (float(tables[:, TIE].sum() / size), float(tables[:, :, TIE].sum() / size)),
    )


def overall_agreement(labels: Labels) -> OverallAgreement:
    """Compare all raters on all items that at least two judged."""
    rated = labels.rated()
    shared = rated.sum(axis=1) > 1
    tables, prompt = coincidences(labels)[shared], labels.prompt[shared]
    number = rated.sum(axis=1)[shared]
    is_fixed = len(number) > 0 and bool((number == number[0]).all())
    fleiss = float(cohen_kappa(labels.meetings()[shared].sum(axis=0))) if is_fixed else float("nan")
    return OverallAgreement(
        int(shared.sum()),
        estimate_statistic(tables, prompt, lambda resampled: alpha(resampled, "nominal"), ONE_LABEL),
        estimate_statistic(tables, prompt, lambda resampled: alpha(resampled, "ordinal"), ONE_LABEL),
        None if np.isnan(fleiss) else fleiss,
        float(rated[:, TIE].sum() / max(rated.sum(), 1)),
    )


def cross_tables(labels: Labels, first: int, second: int) -> Floats:
    """Return each item's labels by both raters as a table that sums to 1, or to 0 if either gave none.

    float64[items, k, k]; an item without a common side has two cells of a half.
    """
    pair = np.stack([labels.row(first), labels.row(second)])
    tables = np.zeros((pair.shape[1], labels.kinds, labels.kinds))
    both = np.flatnonzero((pair != NO_LABEL).all(axis=0))
    tables[both, pair[0, both], pair[1, both]] = 1
    return labels.in_both_directions(tables)
