"""Agreement of raters of one kind, voters or models, with each other and with the other kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judging.stats.agreement.alpha import alpha, coincidences
from judging.stats.agreement.labels import TIE, Labels
from judging.stats.agreement.raters import NO_DECISION, NOTHING_SHARED, ONE_LABEL, compare_raters
from judging.stats.votes import Floats, Ints
from workers.analysis.kappa import cohen_kappa, raw_agreement
from workers.analysis.resampling import Estimate, estimate_statistic

NOT_FIXED = "n/a: κ is of two raters, or of as many on every pair; of others there is α"


@dataclass(frozen=True)
class GroupAgreement:
    """Agreement of all pairs of raters, one from each side, over all items that both judged.

    items: the number of items on which such a pair met; meetings: the number of meetings. kappa: Cohen's of two sides,
    Fleiss's of one side if all items have the same number of raters. alpha: Krippendorff's; between two sides, of
    coincidences of one label of each.
    """

    items: int
    meetings: int
    raw: Estimate
    without_ties: Estimate
    kappa: Estimate
    alpha_nominal: Estimate
    alpha_ordinal: Estimate


@dataclass(frozen=True)
class RaterContribution:
    """Agreement without one rater.

    rise: the ordinal α without the rater minus that of all, with its interval. If the interval is wholly above 0, the
    others agree better without the rater.
    """

    rater: str
    labels: int
    alpha_nominal: float | None
    alpha_ordinal: float | None
    rise: Estimate


def agreement_within(labels: Labels, raters: Sequence[int]) -> GroupAgreement:
    """Compare raters of one kind with each other."""
    own_labels = select_raters(labels, raters)
    rated, met = own_labels.rated(), own_labels.meetings()
    shared = rated.sum(axis=1) > 1
    kappa = _group_kappa(labels, raters, rated[shared], met[shared], labels.prompt[shared])
    # The table has every meeting twice, once from each side.
    return _group_agreement(met[shared] / 2, labels.prompt[shared], kappa, coincidences(own_labels)[shared])


def agreement_between(labels: Labels, first: Sequence[int], second: Sequence[int]) -> GroupAgreement:
    """Compare raters of one kind with those of another."""
    left, right = (select_raters(labels, side).rated() for side in (first, second))
    met = labels.in_both_directions(left[:, :, None] * right[:, None, :])
    shared = met.any(axis=(1, 2))
    met, prompt = met[shared], labels.prompt[shared]
    kappa = estimate_statistic(met, prompt, cohen_kappa, ONE_LABEL if shared.any() else NOTHING_SHARED)
    # An item weighs as many labels as it has, as in coincidences of one kind; with one label of each side both agree.
    weight = (left + right)[shared].sum(axis=1) / (2 * met.sum(axis=(1, 2)))
    return _group_agreement(met, prompt, kappa, (met + met.transpose(0, 2, 1)) * weight[:, None, None])


def rater_contributions(labels: Labels) -> list[RaterContribution]:
    """Return α without each rater in turn; nothing for fewer than three raters, of whom no two would be left."""
    if len(labels.raters) < 3:
        return []
    everybody, every = coincidences(labels), range(len(labels.raters))
    return [_rater_contribution(labels, everybody, rater, [k for k in every if k != rater]) for rater in every]


def select_raters(labels: Labels, raters: Sequence[int]) -> Labels:
    """Return the labels of these raters. The raters' numbers do not change."""
    own = np.isin(labels.rater, list(raters))
    return replace(labels, rater=labels.rater[own], item=labels.item[own], label=labels.label[own])


def _group_kappa(labels: Labels, raters: Sequence[int], rated: Floats, met: Floats, prompt: Ints) -> Estimate:
    """Return κ of raters of one kind; rated, met and prompt are of the items that they share."""
    sides = [k for k in raters if (labels.rater == k).any()]
    if len(sides) == 2:
        return compare_raters(labels, sides[0], sides[1]).kappa
    if not len(rated):
        return Estimate(None, why=NOTHING_SHARED)
    number = rated.sum(axis=1)
    # If all items have the same number of raters, Cohen's formula on meetings counted from both sides is Fleiss's.
    return (
        estimate_statistic(met, prompt, cohen_kappa, ONE_LABEL)
        if (number == number[0]).all()
        else Estimate(None, why=NOT_FIXED)
    )


def _group_agreement(tables: Floats, prompt: Ints, kappa: Estimate, coincidence_tables: Floats) -> GroupAgreement:
    """Estimate all statistics of a group.

    tables: meetings; coincidence_tables: Krippendorff's coincidences. Both float64[items, kinds, kinds].
    """
    reason = ONE_LABEL if len(tables) else NOTHING_SHARED
    decided = np.delete(np.delete(tables, TIE, axis=1), TIE, axis=2)
    return GroupAgreement(
        len(tables),
        round(float(tables.sum())),
        estimate_statistic(tables, prompt, raw_agreement, NOTHING_SHARED),
        estimate_statistic(decided, prompt, raw_agreement, NO_DECISION),
        kappa,
        estimate_statistic(coincidence_tables, prompt, lambda resampled: alpha(resampled, "nominal"), reason),
        estimate_statistic(coincidence_tables, prompt, lambda resampled: alpha(resampled, "ordinal"), reason),
    )


def _rater_contribution(labels: Labels, everybody: Floats, rater: int, others: Sequence[int]) -> RaterContribution:
    left = coincidences(select_raters(labels, others))
    tables = np.stack([everybody, left], axis=1)
    rise = estimate_statistic(tables, labels.prompt, _alpha_rise, ONE_LABEL)
    nominal, ordinal = (_number_or_none(alpha(left.sum(axis=0), by)) for by in ("nominal", "ordinal"))
    return RaterContribution(labels.raters[rater], int((labels.rater == rater).sum()), nominal, ordinal, rise)


def _alpha_rise(tables: Floats) -> Floats:
    """Return α of the second table minus that of the first. float64[..., 2, kinds, kinds] -> float64[...]."""
    alphas = alpha(tables, "ordinal")
    return np.asarray(alphas[..., 1] - alphas[..., 0])


def _number_or_none(value: Floats) -> float | None:
    return None if np.isnan(value) else float(value)
