"""How far people and models agree: by kinds, every two, and what each does to all."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from judging.boards.panels.bias import most_active
from judging.stats import agreement
from judging.stats.agreement import Group, Labels, Pair
from judging.stats.agreement.groups import only
from judging.stats.agreement.labels import TIE
from judging.stats.votes import Bools, Votes


def agreed(votes: Votes, is_person: Bools) -> dict[str, Any]:
    """Groups, pairs, all together, and all but one. Of many raters, those who judged most are told apart."""
    labels = agreement.labels(votes)
    people, models = (np.flatnonzero(of).tolist() for of in (is_person, ~is_person))
    shown = [*most_active(votes, is_person), *most_active(votes, ~is_person)]
    of_shown = _numbered_anew(labels, shown)
    return {
        "raters": [_rater(labels, k, is_person) for k in shown],
        "hidden": int(len(np.unique(labels.rater)) - len(shown)),
        "groups": _groups(labels, people, models),
        "pairs": [_pair(of_shown, one, other) for one in range(len(shown)) for other in range(one + 1, len(shown))],
        "all": asdict(agreement.together(labels)),
        "without": [asdict(one) for one in agreement.without_each(of_shown)],
    }


def _groups(labels: Labels, people: list[int], models: list[int]) -> dict[str, Any]:
    found: dict[str, Group] = {
        "people": agreement.among(labels, people),
        "mixed": agreement.between(labels, people, models),
        "models": agreement.among(labels, models),
    }
    return {name: asdict(group) for name, group in found.items()}


def _rater(labels: Labels, k: int, is_person: Bools) -> dict[str, Any]:
    own = labels.label[labels.rater == k]
    return {
        "name": labels.raters[k], "person": bool(is_person[k]), "labels": len(own),
        "tie_rate": float((own == TIE).mean()) if len(own) else 0.0,
    }  # fmt: skip


def _pair(labels: Labels, one: int, other: int) -> dict[str, Any]:
    found: Pair = agreement.pair(labels, one, other)
    return {"one": one, "other": other, **asdict(found)}


def _numbered_anew(labels: Labels, chosen: list[int]) -> Labels:
    """The chosen raters alone, numbered in their order."""
    number = np.full(len(labels.raters), -1)
    number[chosen] = np.arange(len(chosen))
    own = only(labels, chosen)
    names = tuple(labels.raters[k] for k in chosen)
    return replace(own, raters=names, rater=number[own.rater])
