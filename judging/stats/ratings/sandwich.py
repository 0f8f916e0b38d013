"""Standard errors of strengths, clustered by prompts or annotators, and Student's t intervals that follow from them.

The covariance is the sandwich formula with the correction of Bell and McCaffrey (2002) that a delete-one jackknife
makes (CR3): each cluster counts with the Newton step that the strengths take without it, so that a cluster that pulls
the strengths towards itself does not hide its own error. Bootstrap percentiles lack both this correction and Student's
t, and cover too little if there are few clusters (Cameron, Gelbach and Miller 2008).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from judging.stats.ratings.bootstrap import MAX_FITTED_NUMBERS, cells_by_unit
from judging.stats.ratings.counts import Cells, Counts, counts_from_cells, sum_at
from judging.stats.ratings.intervals import Interval, standard_errors
from judging.stats.ratings.maximum_likelihood import Fit, add_prior, newton_step
from judging.stats.votes import Floats, Ints, Votes
from workers.analysis.student_t import t_quantile

ROUNDING = 1e-12
"""A smaller share of a sum is a rounding error."""


@dataclass(frozen=True)
class StrengthErrors:
    """Standard errors in nats.

    centred: float64[n], of strengths with mean 0. difference: float64[n, n], of the row's strength minus the column's.
    freedom: degrees of freedom of Student's t: the number of clusters less one, of the unit that has fewer.
    """

    centred: Floats
    difference: Floats
    freedom: int

    def interval(self, value: Floats, error: Floats, level: float) -> Interval:
        """Return the interval of `level` of values in nats with these standard errors."""
        half = t_quantile(self.freedom, level) * error
        return Interval(value - half, value + half)


def strength_errors(
    votes: Votes, fitted: Fit, unit: str = "prompt", ties: str = "half-win", prior: float = 0.0
) -> StrengthErrors | None:
    """Return the errors of a fit, clustered by one of UNITS; None with fewer than two clusters of a unit, or if the
    strengths depend on a single cluster.

    With the unit `both`, variances of prompts and annotators add up, less that of their intersections, and none is
    below that of either unit (Cameron, Gelbach and Miller 2011).
    """
    table = cells_by_unit(votes, unit)
    clusters = [table.annotator] if unit == "annotator" else [table.prompt]
    if unit == "both":
        clusters += [table.annotator, _crossed(table)]
    if any(len(np.unique(cluster)) < 2 for cluster in clusters):
        return None
    variances = [_variances(_covariance(table, cluster, fitted, ties, prior)) for cluster in clusters]
    if not all(np.isfinite(difference).all() for _, difference in variances):
        return None
    centred, difference = (_two_way(parts) if unit == "both" else parts[0] for parts in zip(*variances, strict=True))
    freedom = min(int(cluster.max()) for cluster in clusters)
    return StrengthErrors(np.sqrt(centred), np.sqrt(difference), freedom)


def _crossed(table: Cells) -> Ints:
    """Return the number of each entry's pair of prompt and annotator."""
    key = table.prompt * (int(table.annotator.max(initial=0)) + 1) + table.annotator
    return np.asarray(np.unique(key, return_inverse=True)[1].reshape(-1), np.int64)


def _two_way(parts: tuple[Floats, ...]) -> Floats:
    prompt, annotator, crossed = parts
    return np.asarray(np.maximum.reduce([prompt + annotator - crossed, prompt, annotator]))


def _variances(covariance: Floats) -> tuple[Floats, Floats]:
    """Return the variances of strengths, float64[n], and of their differences, float64[n, n]."""
    own = standard_errors(covariance) ** 2
    difference = np.maximum(own[:, None] + own - 2 * covariance, 0)
    np.fill_diagonal(difference, 0)
    return own, difference


def _covariance(table: Cells, cluster: Ints, fitted: Fit, ties: str, prior: float) -> Floats:
    """Return the covariance of strengths with mean 0, clustered. float64[n, n], not finite if the rest of some cluster
    leaves a strength open."""
    count, total = int(cluster.max()) + 1, add_prior(table.counts(), prior)
    summed = np.zeros((table.n, table.n))
    for counts, times in _cluster_counts(table, cluster):
        rest = Counts(_subtract(total.wins, counts.wins), _subtract(total.ties, counts.ties))
        steps = newton_step(rest, fitted, ties)
        summed += (steps * times[:, None]).T @ steps
    return np.asarray((count - 1) / count * summed)


def _subtract(total: Floats, part: Floats) -> Floats:
    """Return the rest of sums; a rest that is only a rounding error is 0, as it must not connect two contestants."""
    rest = total - part
    return np.where(rest > ROUNDING * total, rest, 0.0)


def _cluster_counts(table: Cells, cluster: Ints) -> Iterator[tuple[Counts, Floats]]:
    """Yield (counts of some clusters, how many clusters have these counts), in blocks that fit in memory."""
    cell, weight, times = table.cell, table.weight, np.ones(int(cluster.max()) + 1)
    if len(times) == len(cell):
        # Of clusters of one entry each there are only as many kinds as there are cells and weights.
        kinds, kind_counts = np.unique(np.stack([cell, weight]), axis=1, return_counts=True)
        cell, weight, times = kinds[0].astype(np.int64), kinds[1], kind_counts.astype(np.float64)
        cluster = np.arange(len(cell))
    order, cells = np.argsort(cluster, kind="stable"), 2 * table.n**2
    cell, weight, cluster = cell[order], weight[order], cluster[order]
    size = max(1, MAX_FITTED_NUMBERS // cells)
    for start in range(0, len(times), size):
        end = min(start + size, len(times))
        entries = slice(*np.searchsorted(cluster, [start, end]))
        sums = sum_at((cluster[entries] - start) * cells + cell[entries], weight[entries], (end - start) * cells)
        yield counts_from_cells(sums.reshape(end - start, cells), table.n), times[start:end]
