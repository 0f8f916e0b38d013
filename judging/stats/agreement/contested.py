"""The comparisons that raters say most different things of: what to read first, before any number is believed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from judging.stats.agreement.position import swaps, toward
from judging.stats.votes import Bools, Floats, Ints, Votes

KINDS = ("split", "swapped", "person", "scorer")
"""Why: raters are split; one said another thing with sides swapped; people and models differ; scorer and raters do."""


@dataclass(frozen=True)
class Contested:
    """Two answers to a prompt, by numbers of the votes' prompts and contestants, one < other.

    people, models: how often each said that `one` wins, a tie, that `other` wins. swapped: pairs of games of one rater
    that differ. apart: by how much the scorer puts `one` above `other`, None where it says nothing. how: a strength for
    each of KINDS that applies, the larger the more contested.
    """

    prompt: int
    one: int
    other: int
    people: tuple[int, int, int]
    models: tuple[int, int, int]
    swapped: int
    apart: float | None
    how: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _Items:
    """prompt, one, other: int64[items]. said: float64[items, 2, 3], by people and by models. swapped: int64[items].
    apart: float64[items], NaN where the scorer says nothing."""

    prompt: Ints
    one: Ints
    other: Ints
    said: Floats
    swapped: Ints
    apart: Floats


def contested(votes: Votes, is_person: Bools, scores: Floats | None = None) -> list[Contested]:
    """Every comparison that is contested in any way, the most contested first.

    is_person: bool[annotators]. scores: float64[prompts, contestants], NaN where there is none, the higher the better.
    """
    items = _items(votes.counted, is_person, scores)
    strengths = _strengths(items)
    best = np.stack(list(strengths.values())).max(axis=0)
    found = np.flatnonzero(best > 0)
    # Of equals, in the order of prompts and contestants.
    order = found[np.argsort(-best[found], kind="stable")]
    return [_contested(items, strengths, int(k)) for k in order]


def _items(votes: Votes, is_person: Bools, scores: Floats | None) -> _Items:
    n = max(len(votes.contestants), 1)
    key = (votes.prompt * n + np.minimum(votes.a, votes.b)) * n + np.maximum(votes.a, votes.b)
    names, item = np.unique(key, return_inverse=True)
    item = item.reshape(-1)
    said = np.zeros((len(names), 2, 3))
    np.add.at(said, (item, np.where(is_person[votes.annotator], 0, 1), toward(votes)), 1)
    games, labels = swaps(votes).games, toward(votes)
    swapped = np.bincount(item[games[labels[games[:, 0]] != labels[games[:, 1]], 0]], minlength=len(names))
    prompt, pair = np.divmod(names, n * n)
    one, other = np.divmod(pair, n)
    apart = np.full(len(names), np.nan) if scores is None else scores[prompt, one] - scores[prompt, other]
    return _Items(prompt, one, other, said, swapped, apart)


def _strengths(items: _Items) -> dict[str, Floats]:
    """For each of KINDS, float64[items] from 0, which is not at all, to 1."""
    all_, people, models = items.said.sum(axis=1), items.said[:, 0], items.said[:, 1]
    total = np.maximum(all_.sum(axis=1), 1)
    lean, by_people, by_models = _lean(all_), _lean(people), _lean(models)
    size = np.nanmax(abs(items.apart), initial=0.0, where=np.isfinite(items.apart)) or 1.0
    against = np.nan_to_num(np.where(np.sign(items.apart) * np.sign(lean) < 0, abs(items.apart) / size, 0))
    return {
        "split": 2 * np.minimum(all_[:, 0], all_[:, 2]) / total,
        "swapped": np.minimum(2 * items.swapped / total, 1),
        "person": np.where(by_people * by_models < 0, np.minimum(abs(by_people), abs(by_models)), 0),
        "scorer": against,
    }


def _lean(said: Floats) -> Floats:
    """From 1, everybody for the first, to -1. float64[items, 3] -> float64[items]."""
    return np.asarray((said[:, 0] - said[:, 2]) / np.maximum(said.sum(axis=1), 1))


def _contested(items: _Items, strengths: dict[str, Floats], k: int) -> Contested:
    people, models = (tuple(int(count) for count in row) for row in items.said[k])
    apart = float(items.apart[k])
    return Contested(
        int(items.prompt[k]), int(items.one[k]), int(items.other[k]),
        (people[0], people[1], people[2]), (models[0], models[1], models[2]), int(items.swapped[k]),
        None if np.isnan(apart) else apart,
        {name: float(one[k]) for name, one in strengths.items() if one[k] > 0},
    )  # fmt: skip
