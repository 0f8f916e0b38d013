"""How far raters of one kind agree with each other, and with those of another: people, and models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judging.agreement.alpha import alpha, coincidences
from judging.agreement.kappa import cohen
from judging.agreement.labels import TIE, Labels
from judging.agreement.raters import NO_DECISION, NOTHING_SHARED, ONE_LABEL, raw
from judging.agreement.resampling import Estimate, estimate
from judging.votes import Floats, Ints

OF_TWO = "n/a: κ is of two raters; of more there is α"
TWO_KINDS = "n/a: α is of raters who stand for each other; two kinds of them do not"


@dataclass(frozen=True)
class Group:
    """Two raters a time, one of each side, over all items that both judged. items: those that such two met on;
    meetings: how often two met. kappa: Cohen's, of one side against the other; alpha: of raters of one kind."""

    items: int
    meetings: int
    raw: Estimate
    without_ties: Estimate
    kappa: Estimate
    alpha_nominal: Estimate
    alpha_ordinal: Estimate


@dataclass(frozen=True)
class Without:
    """What is left of α where one rater is left out. rise: by how much that lifts the ordinal one, with its interval:
    wholly above 0, the others agree better without."""

    rater: str
    labels: int
    alpha_nominal: float | None
    alpha_ordinal: float | None
    rise: Estimate


def among(labels: Labels, raters: Sequence[int]) -> Group:
    """Raters of one kind against each other."""
    rated = only(labels, raters).rated()
    met = rated[:, :, None] * rated[:, None, :] - rated[:, :, None] * np.eye(labels.kinds)
    together = coincidences(only(labels, raters))
    shared = rated.sum(axis=1) > 1
    why, prompt = ONE_LABEL if shared.any() else NOTHING_SHARED, labels.prompt[shared]
    nominal = estimate(together[shared], prompt, lambda drawn: alpha(drawn, "nominal"), why)
    ordinal = estimate(together[shared], prompt, lambda drawn: alpha(drawn, "ordinal"), why)
    # Every meeting stands in the table twice, once from each side.
    return _group(met[shared] / 2, prompt, Estimate(None, why=OF_TWO), nominal, ordinal)


def between(labels: Labels, one: Sequence[int], other: Sequence[int]) -> Group:
    """Raters of one kind against those of another."""
    met = only(labels, one).rated()[:, :, None] * only(labels, other).rated()[:, None, :]
    shared = met.any(axis=(1, 2))
    why, prompt = ONE_LABEL if shared.any() else NOTHING_SHARED, labels.prompt[shared]
    no_alpha = Estimate(None, why=TWO_KINDS)
    return _group(met[shared], prompt, estimate(met[shared], prompt, cohen, why), no_alpha, no_alpha)


def without_each(labels: Labels) -> list[Without]:
    """Of three raters or more: what each does to α. Of two, nobody would be left to agree."""
    if len(labels.raters) < 3:
        return []
    everybody, every = coincidences(labels), range(len(labels.raters))
    return [_without(labels, everybody, rater, [k for k in every if k != rater]) for rater in every]


def only(labels: Labels, raters: Sequence[int]) -> Labels:
    """What these said; raters keep their numbers."""
    own = np.isin(labels.rater, list(raters))
    return replace(labels, rater=labels.rater[own], item=labels.item[own], label=labels.label[own])


def _group(tables: Floats, prompt: Ints, kappa: Estimate, nominal: Estimate, ordinal: Estimate) -> Group:
    """tables: float64[items, kinds, kinds]."""
    decided = np.delete(np.delete(tables, TIE, axis=1), TIE, axis=2)
    return Group(
        len(tables),
        round(float(tables.sum())),
        estimate(tables, prompt, raw, NOTHING_SHARED),
        estimate(decided, prompt, raw, NO_DECISION),
        kappa,
        nominal,
        ordinal,
    )


def _without(labels: Labels, everybody: Floats, rater: int, others: Sequence[int]) -> Without:
    left = coincidences(only(labels, others))
    tables = np.stack([everybody, left], axis=1)
    rise = estimate(tables, labels.prompt, _rise, ONE_LABEL)
    nominal, ordinal = (_number(alpha(left.sum(axis=0), by)) for by in ("nominal", "ordinal"))
    return Without(labels.raters[rater], int((labels.rater == rater).sum()), nominal, ordinal, rise)


def _rise(tables: Floats) -> Floats:
    """Of everybody's coincidences beside the others', float64[..., 2, kinds, kinds]."""
    found = alpha(tables, "ordinal")
    return np.asarray(found[..., 1] - found[..., 0])


def _number(of: Floats) -> float | None:
    return None if np.isnan(of) else float(of)
