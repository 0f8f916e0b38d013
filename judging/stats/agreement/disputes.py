"""Comparisons on which raters disagree most. Read these before you believe any number."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from judging.stats.agreement.position import find_swaps, outcome_labels
from judging.stats.votes import Bools, Floats, Ints, Votes

KINDS = ("split", "swapped", "person", "scorer")
"""Kinds of dispute: raters are split; one rater changed with swapped sides; voters and models differ; scorer and raters
differ."""


@dataclass(frozen=True)
class ContestedPair:
    """Two responses to a prompt, by numbers of the votes' prompts and contestants, one < other.

    people, models: the numbers of their votes that `one` wins, for a tie and that `other` wins. swapped: the number of
    pairs of games of one rater that differ. apart: the scorer's score of `one` minus that of `other`, None if a score
    is missing. how: a strength for each of KINDS that applies, the larger the more contested.
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
class _PairLabels:
    """Labels of each pair.

    prompt, one, other: int64[items]. counts: float64[items, 2, 3], of voters and of models. swapped: int64[items].
    apart: float64[items], NaN if the scorer gave no score.
    """

    prompt: Ints
    one: Ints
    other: Ints
    counts: Floats
    swapped: Ints
    apart: Floats


def contested_pairs(votes: Votes, is_person: Bools, scores: Floats | None = None) -> list[ContestedPair]:
    """Return every comparison that is contested in any way, the most contested first.

    is_person: bool[annotators]. scores: float64[prompts, contestants], NaN if there is none, the higher the better.
    """
    items = _pair_labels(votes.counted, is_person, scores)
    strengths = _dispute_strengths(items)
    best = np.stack(list(strengths.values())).max(axis=0)
    is_contested_index = np.flatnonzero(best > 0)
    # Equal strengths stay in the order of prompts and contestants.
    order = is_contested_index[np.argsort(-best[is_contested_index], kind="stable")]
    return [_contested_pair(items, strengths, int(k)) for k in order]


def _pair_labels(votes: Votes, is_person: Bools, scores: Floats | None) -> _PairLabels:
    n = max(len(votes.contestants), 1)
    key = (votes.prompt * n + np.minimum(votes.a, votes.b)) * n + np.maximum(votes.a, votes.b)
    names, item = np.unique(key, return_inverse=True)
    item = item.reshape(-1)
    counts = np.zeros((len(names), 2, 3))
    np.add.at(counts, (item, np.where(is_person[votes.annotator], 0, 1), outcome_labels(votes)), 1)
    games, labels = find_swaps(votes).games, outcome_labels(votes)
    swapped = np.bincount(item[games[labels[games[:, 0]] != labels[games[:, 1]], 0]], minlength=len(names))
    prompt, pair = np.divmod(names, n * n)
    first, second = np.divmod(pair, n)
    apart = np.full(len(names), np.nan) if scores is None else scores[prompt, first] - scores[prompt, second]
    return _PairLabels(prompt, first, second, counts, swapped, apart)


def _dispute_strengths(items: _PairLabels) -> dict[str, Floats]:
    """Return a strength for each of KINDS: float64[items], from 0, not contested, to 1."""
    all_counts, people, models = items.counts.sum(axis=1), items.counts[:, 0], items.counts[:, 1]
    total = np.maximum(all_counts.sum(axis=1), 1)
    lean, by_people, by_models = _lean(all_counts), _lean(people), _lean(models)
    size = np.nanmax(abs(items.apart), initial=0.0, where=np.isfinite(items.apart)) or 1.0
    against = np.nan_to_num(np.where(np.sign(items.apart) * np.sign(lean) < 0, abs(items.apart) / size, 0))
    return {
        "split": 2 * np.minimum(all_counts[:, 0], all_counts[:, 2]) / total,
        "swapped": np.minimum(2 * items.swapped / total, 1),
        "person": np.where(by_people * by_models < 0, np.minimum(abs(by_people), abs(by_models)), 0),
        "scorer": against,
    }


def _lean(counts: Floats) -> Floats:
    """Return the balance of votes from 1, all for the first, to -1. float64[items, 3] -> float64[items]."""
    return np.asarray((counts[:, 0] - counts[:, 2]) / np.maximum(counts.sum(axis=1), 1))


def _contested_pair(items: _PairLabels, strengths: dict[str, Floats], k: int) -> ContestedPair:
    people, models = (tuple(int(count) for count in row) for row in items.counts[k])
    apart = float(items.apart[k])
    return ContestedPair(
        int(items.prompt[k]), int(items.one[k]), int(items.other[k]),
        (people[0], people[1], people[2]), (models[0], models[1], models[2]), int(items.swapped[k]),
        None if np.isnan(apart) else apart,
        {name: float(strength[k]) for name, strength in strengths.items() if strength[k] > 0},
    )  # fmt: skip
