"""Agreement of raters of one kind, people or models, with each other and with the other kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judging.stats.agreement.alpha import alpha, coincidences
from judging.stats.agreement.kappa import cohen
from judging.stats.agreement.labels import TIE, Labels
from judging.stats.agreement.raters import NO_DECISION, NOTHING_SHARED, ONE_LABEL, pair, raw
from judging.stats.agreement.resampling import Estimate, estimate
from judging.stats.votes import Floats, Ints

NOT_FIXED = "n/a: κ is of two raters, or of as many on every pair; of others there is α"


@dataclass(frozen=True)
class Group:
    """Two raters a time, one of each side, over all items that both judged. items: those that such two met on;
    meetings: how often two met. kappa: Cohen's of two sides, Fleiss's of one where all items have as many raters.
    alpha: Krippendorff's; between two sides, of coincidences of one label of each."""

    items: int
    meetings: int
    raw: Estimate
    without_ties: Estimate
    kappa: Estimate
    alpha_nominal: Estimate
    alpha_ordinal: Estimate


@dataclass(frozen=True)
class Without:
    """α without one rater. rise: the ordinal α without the rater minus that of all, with its interval: wholly above 0,
    the others agree better without."""

    rater: str
    labels: int
    alpha_nominal: float | None
    alpha_ordinal: float | None
    rise: Estimate


def among(labels: Labels, raters: Sequence[int]) -> Group:
    """Compare raters of one kind with each other."""
    own = only(labels, raters)
    rated, met = own.rated(), own.meetings()
    shared = rated.sum(axis=1) > 1
    kappa = _kappa(labels, raters, rated[shared], met[shared], labels.prompt[shared])
    # Every meeting stands in the table twice, once from each side.
    return _group(met[shared] / 2, labels.prompt[shared], kappa, coincidences(own)[shared])


def between(labels: Labels, one: Sequence[int], other: Sequence[int]) -> Group:
    """Compare raters of one kind with those of another."""
    left, right = (only(labels, side).rated() for side in (one, other))
    met = labels.in_both_directions(left[:, :, None] * right[:, None, :])
    shared = met.any(axis=(1, 2))
    met, prompt = met[shared], labels.prompt[shared]
    kappa = estimate(met, prompt, cohen, ONE_LABEL if shared.any() else NOTHING_SHARED)
    # An item is worth as many labels as it has, as in coincidences of one kind: of one of each side they are the same.
    weight = (left + right)[shared].sum(axis=1) / (2 * met.sum(axis=(1, 2)))
    return _group(met, prompt, kappa, (met + met.transpose(0, 2, 1)) * weight[:, None, None])


def without_each(labels: Labels) -> list[Without]:
    """Return α without each rater in turn; nothing for fewer than three raters, of whom no two would be left."""
    if len(labels.raters) < 3:
        return []
    everybody, every = coincidences(labels), range(len(labels.raters))
    return [_without(labels, everybody, rater, [k for k in every if k != rater]) for rater in every]


def only(labels: Labels, raters: Sequence[int]) -> Labels:
    """Return the labels of these raters, who keep their numbers."""
    own = np.isin(labels.rater, list(raters))
    return replace(labels, rater=labels.rater[own], item=labels.item[own], label=labels.label[own])


def _kappa(labels: Labels, raters: Sequence[int], rated: Floats, met: Floats, prompt: Ints) -> Estimate:
    """Return κ of raters of one kind; rated, met and prompt are of the items that they share."""
    sides = [k for k in raters if (labels.rater == k).any()]
    if len(sides) == 2:
        return pair(labels, sides[0], sides[1]).kappa
    if not len(rated):
        return Estimate(None, why=NOTHING_SHARED)
    number = rated.sum(axis=1)
    # Where all items have as many raters, Cohen's formula on meetings told from both sides is Fleiss's.
    return estimate(met, prompt, cohen, ONE_LABEL) if (number == number[0]).all() else Estimate(None, why=NOT_FIXED)


def _group(tables: Floats, prompt: Ints, kappa: Estimate, together: Floats) -> Group:
    """tables, together: what met, and how often by Krippendorff, float64[items, kinds, kinds]."""
    why = ONE_LABEL if len(tables) else NOTHING_SHARED
    decided = np.delete(np.delete(tables, TIE, axis=1), TIE, axis=2)
    return Group(
        len(tables),
        round(float(tables.sum())),
        estimate(tables, prompt, raw, NOTHING_SHARED),
        estimate(decided, prompt, raw, NO_DECISION),
        kappa,
        estimate(together, prompt, lambda drawn: alpha(drawn, "nominal"), why),
        estimate(together, prompt, lambda drawn: alpha(drawn, "ordinal"), why),
    )


def _without(labels: Labels, everybody: Floats, rater: int, others: Sequence[int]) -> Without:
    left = coincidences(only(labels, others))
    tables = np.stack([everybody, left], axis=1)
    rise = estimate(tables, labels.prompt, _rise, ONE_LABEL)
    nominal, ordinal = (_number(alpha(left.sum(axis=0), by)) for by in ("nominal", "ordinal"))
    return Without(labels.raters[rater], int((labels.rater == rater).sum()), nominal, ordinal, rise)


def _rise(tables: Floats) -> Floats:
    """Return α of the second table minus that of the first. float64[..., 2, kinds, kinds] -> float64[...]."""
    found = alpha(tables, "ordinal")
    return np.asarray(found[..., 1] - found[..., 0])


def _number(of: Floats) -> float | None:
    return None if np.isnan(of) else float(of)
