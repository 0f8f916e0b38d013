"""Agreement of readers: Cohen's κ of the verdicts and of each kind, with intervals that resample questions.

Responses to one question resemble each other, so an interval resamples questions with all their responses. If the
readers never differ, all resamples are equal; then the lower end is exact: with n questions and no difference, the
agreement is at least .025^(1/n) (Clopper and Pearson, Biometrika 26:404, 1934).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from workers.analysis.kappa import cohen_kappa, raw_agreement
from workers.analysis.labels.verdicts import ADJUDICATED, KINDS, VERDICTS, Label, current_labels
from workers.analysis.resampling import Estimate, Floats, Ints, estimate_statistic

NOTHING_SHARED = "n/a: there is no response that both labelled"
ONE_VERDICT = "n/a: both used one verdict alone"
NEVER_USED = "n/a: neither used it"
ALWAYS_USED = "n/a: both used it always"
TAIL = 0.025
"""Probability beyond either end of an interval."""


@dataclass(frozen=True)
class KindAgreement:
    """Agreement of two readers on a kind: numbers of responses that both, only the first, and only the second gave
    it."""

    kind: str
    both: int
    only_first: int
    only_second: int
    kappa: Estimate


@dataclass(frozen=True)
class ReaderPair:
    """Agreement of two readers on the responses that both labelled.

    n: number of these responses; questions: of their questions. raw: share of equal verdicts. table: numbers of
    responses by the first reader's verdict (rows) and the second's, in the order of VERDICTS.
    """

    readers: tuple[str, str]
    n: int
    questions: int
    raw: Estimate
    kappa: Estimate
    table: tuple[tuple[int, ...], ...]
    kinds: tuple[KindAgreement, ...]


def compare_readers(labels: Iterable[Label]) -> list[ReaderPair]:
    """Compare every two readers that share a response, by name. Adjudications are no readings."""
    by_key = current_labels(label for label in labels if label.reader != ADJUDICATED)
    readers = sorted({reader for by_reader in by_key.values() for reader in by_reader})
    pairs = []
    for first, second in combinations(readers, 2):
        met = [(rows[first], rows[second]) for rows in by_key.values() if first in rows and second in rows]
        if met:
            pairs.append(_compare((first, second), met))
    return pairs


def _compare(readers: tuple[str, str], met: Sequence[tuple[Label, Label]]) -> ReaderPair:
    questions, cluster = np.unique([first.question for first, _second in met], return_inverse=True)
    cluster = cluster.reshape(-1).astype(np.int64)
    numbers = [(VERDICTS.index(first.verdict), VERDICTS.index(second.verdict)) for first, second in met]
    tables = _cross_tables(numbers, len(VERDICTS))
    return ReaderPair(
        readers, len(met), len(questions),
        _estimate(tables, cluster, raw_agreement, NOTHING_SHARED), _estimate(tables, cluster, cohen_kappa, ONE_VERDICT),
        tuple(tuple(int(count) for count in row) for row in tables.sum(axis=0)),
        tuple(_compare_kind(kind, met, cluster) for kind in KINDS),
    )  # fmt: skip


def _compare_kind(kind: str, met: Sequence[tuple[Label, Label]], cluster: Ints) -> KindAgreement:
    tables = _cross_tables([(int(kind in first.kinds), int(kind in second.kinds)) for first, second in met], 2)
    counts = tables.sum(axis=0).astype(int)
    reason = ALWAYS_USED if counts[1, 1] else NEVER_USED
    kappa = _estimate(tables, cluster, cohen_kappa, reason)
    return KindAgreement(kind, int(counts[1, 1]), int(counts[1, 0]), int(counts[0, 1]), kappa)


def _estimate(tables: Floats, cluster: Ints, statistic: Callable[[Floats], Floats], reason: str) -> Estimate:
    estimate = estimate_statistic(tables, cluster, statistic, reason)
    total = tables.sum(axis=0)
    if estimate.value is None or total.trace() < total.sum():
        return estimate
    agreement = TAIL ** (1 / len(np.unique(cluster)))
    shares = total / total.sum()
    # The agreement that is missing lies off the diagonal; the readers' shares of each label stay as they are.
    chance = float((shares.sum(axis=0) * shares.sum(axis=1)).sum())
    # κ is at least -1; a rare label says no more.
    low = agreement if statistic is raw_agreement else max(-1.0, (agreement - chance) / (1 - chance))
    return replace(estimate, low=low, high=1.0, undefined=0.0)


def _cross_tables(numbers: Sequence[tuple[int, int]], size: int) -> Floats:
    """Return a table of each pair of numbers that has a 1 where they meet. float64[pairs, size, size]."""
    tables = np.zeros((len(numbers), size, size))
    first, second = zip(*numbers, strict=True)
    tables[np.arange(len(numbers)), first, second] = 1
    return tables
