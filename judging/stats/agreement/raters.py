"""Agreement of every two raters, and of all raters together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from judging.stats.agreement.alpha import alpha, coincidences
from judging.stats.agreement.kappa import cohen, crosses
from judging.stats.agreement.labels import TIE, Labels
from judging.stats.agreement.resampling import Estimate, estimate
from judging.stats.votes import Floats

ONE_LABEL = "n/a: chance alone agrees always where one label is all that was used"
NOTHING_SHARED = "n/a: there is no item that both judged"
NO_DECISION = "n/a: there is no item that both decided"


@dataclass(frozen=True)
class Pair:
    """Two raters on the items that both judged. without_ties: on those that both decided. tie_rates: of each, without
    which no kappa can be read."""

    raters: tuple[str, str]
    items: int
    raw: Estimate
    without_ties: Estimate
    kappa: Estimate
    tie_rates: tuple[float, float]


@dataclass(frozen=True)
class All:
    """All raters together. fleiss: None where their number is not the same everywhere. tie_rate: of all labels."""

    items: int
    alpha_nominal: Estimate
    alpha_ordinal: Estimate
    fleiss: float | None
    tie_rate: float


def pairs(labels: Labels) -> list[Pair]:
    """Compare every two raters, also those who shared nothing."""
    return [pair(labels, one, other) for one, other in combinations(range(len(labels.raters)), 2)]


def pair(labels: Labels, one: int, other: int) -> Pair:
    """Compare rater number `one` with `other`."""
    tables = crosses(labels, one, other)
    shared = np.flatnonzero(tables.any(axis=(1, 2)))
    tables, prompt = tables[shared], labels.prompt[shared]
    decided = np.delete(np.delete(tables, TIE, axis=1), TIE, axis=2)
    size = max(len(shared), 1)
    return Pair(
        (labels.raters[one], labels.raters[other]),
        len(shared),
        estimate(tables, prompt, raw, NOTHING_SHARED),
        estimate(decided, prompt, raw, NO_DECISION),
        estimate(tables, prompt, cohen, ONE_LABEL if len(shared) else NOTHING_SHARED),
        (float(tables[:, TIE].sum() / size), float(tables[:, :, TIE].sum() / size)),
    )


def together(labels: Labels) -> All:
    """Compare all raters on all items that at least two judged."""
    rated = labels.rated()
    shared = rated.sum(axis=1) > 1
    tables, prompt = coincidences(labels)[shared], labels.prompt[shared]
    number = rated.sum(axis=1)[shared]
    is_fixed = len(number) > 0 and bool((number == number[0]).all())
    fleiss = float(cohen(labels.meetings()[shared].sum(axis=0))) if is_fixed else float("nan")
    return All(
        int(shared.sum()),
        estimate(tables, prompt, lambda drawn: alpha(drawn, "nominal"), ONE_LABEL),
        estimate(tables, prompt, lambda drawn: alpha(drawn, "ordinal"), ONE_LABEL),
        None if np.isnan(fleiss) else fleiss,
        float(rated[:, TIE].sum() / max(rated.sum(), 1)),
    )


def raw(table: Floats) -> Floats:
    """Return the share on the diagonal of tables of counts. float64[..., k, k] -> float64[...]."""
    total = table.sum(axis=(-1, -2))
    share = np.full(total.shape, np.nan)
    np.divide(table.trace(axis1=-2, axis2=-1), total, out=share, where=total > 0)
    return share
