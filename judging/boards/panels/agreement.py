"""Agreement of voters and models: by kinds, by pairs of raters, and without each rater."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from judging.boards.panels.bias import most_active
from judging.stats import agreement
from judging.stats.agreement import GroupAgreement, Labels, Pair
from judging.stats.agreement.groups import select_raters
from judging.stats.agreement.labels import TIE
from judging.stats.votes import Bools, Votes


def agreement_panel(votes: Votes, is_person: Bools) -> dict[str, Any]:
    """Compute the agreement of groups, of pairs, of all raters and of all but one.

    If there are many raters, only those with the most votes are compared one by one.
    """
    labels = agreement.build_labels(votes)
    people, models = (np.flatnonzero(mask).tolist() for mask in (is_person, ~is_person))
    displayed_raters = [*most_active(votes, is_person), *most_active(votes, ~is_person)]
    displayed_labels = _select_raters(labels, displayed_raters)
    return {
        "raters": [_rater(labels, k, is_person) for k in displayed_raters],
        "hidden": int(len(np.unique(labels.rater)) - len(displayed_raters)),
        "groups": _groups(labels, people, models),
        "pairs": [
            _pair(displayed_labels, first, other)
            for first in range(len(displayed_raters))
            for other in range(first + 1, len(displayed_raters))
        ],
        "all": asdict(agreement.overall_agreement(labels)),
        "without": [asdict(result) for result in agreement.rater_contributions(displayed_labels)],
    }


def _groups(labels: Labels, person_ids: list[int], model_ids: list[int]) -> dict[str, Any]:
    groups: dict[str, GroupAgreement] = {
        "people": agreement.agreement_within(labels, person_ids),
        "mixed": agreement.agreement_between(labels, person_ids, model_ids),
        "models": agreement.agreement_within(labels, model_ids),
    }
    return {name: asdict(group) for name, group in groups.items()}


def _rater(labels: Labels, k: int, is_person: Bools) -> dict[str, Any]:
    own = labels.label[labels.rater == k]
    return {
        "name": labels.raters[k], "person": bool(is_person[k]), "labels": len(own),
        "tie_rate": float((own == TIE).mean()) if len(own) else 0.0,
    }  # fmt: skip


def _pair(labels: Labels, first: int, other: int) -> dict[str, Any]:
    agreement_of_pair: Pair = agreement.compare_raters(labels, first, other)
    return {"one": first, "other": other, **asdict(agreement_of_pair)}


def _select_raters(labels: Labels, raters: list[int]) -> Labels:
    """Return the labels of the selected raters alone, who are numbered in the order given."""
    new_number = np.full(len(labels.raters), -1)
    new_number[raters] = np.arange(len(raters))
    selected_labels = select_raters(labels, raters)
    names = tuple(labels.raters[k] for k in raters)
    return replace(selected_labels, raters=names, rater=new_number[selected_labels.rater])
