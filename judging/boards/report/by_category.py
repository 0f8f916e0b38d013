"""Ratings in each category of prompts, beside each other: whether who leads on the whole leads everywhere.

A category is rated by the votes on its prompts alone, everybody against everybody, with the mean at the same place in
each. Categories overlap: a vote counts in each that its prompt has.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from judging.boards.report.report import plain
from judging.stats import agreement, ratings
from judging.stats.ratings import Board, Range, RatingOptions
from judging.stats.ratings.bootstrap import FEW
from judging.stats.ratings.standings import Record
from judging.stats.votes import Votes

SHOWN_AT_MOST = 20
"""PKU-SafeRLHF names 19 harms. Of more, those with most votes."""
PROMPTS_AT_LEAST = 5
"""Resampling fewer says next to nothing of how sure a rating is."""
RESAMPLES = 200
"""Fewer than a board's own: there are many of them, and a board waits for all."""


@dataclass(frozen=True)
class Cell:
    """Of a contestant in a category. rating: None where the category gives none."""

    rating: Range | None
    record: Record


@dataclass(frozen=True)
class OfCategory:
    """prompts and votes: those that count. cells: by contestants' numbers. why: what keeps it from having ratings,
    empty where nothing does; sentences: what is to be known of those that it has."""

    category: str
    prompts: int
    votes: int
    cells: tuple[Cell, ...]
    why: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class ByCategory:
    """shown: most votes first. others: (category, prompts, votes) of those that are not. none: prompts and votes of no
    category."""

    shown: tuple[OfCategory, ...]
    others: tuple[tuple[str, int, int], ...]
    none: tuple[int, int]
    resamples: int = RESAMPLES

    def to_json(self) -> Any:
        """All of it as plain values."""
        return plain(asdict(self))


def by_category(votes: Votes, asked: RatingOptions, swap: str = "as-is") -> ByCategory | None:
    """As the whole board is asked for, but for its anchor and with fewer resamples; None where no prompt has a
    category."""
    rated = agreement.by_policy(votes, swap).counted
    masks = rated.categories
    size = {name: (len(np.unique(rated.prompt[mask])), int(mask.sum())) for name, mask in masks.items()}
    named = sorted(masks.keys() - {""}, key=lambda name: (-size[name][1], name))
    if not named:
        return None
    asked = replace(asked, anchor=None, resampling=replace(asked.resampling, resamples=RESAMPLES))
    return ByCategory(
        tuple(_of_category(name, rated.where(masks[name]), asked) for name in named[:SHOWN_AT_MOST]),
        tuple((name, *size[name]) for name in named[SHOWN_AT_MOST:]),
        size.get("", (0, 0)),
    )


def _of_category(name: str, votes: Votes, asked: RatingOptions) -> OfCategory:
    found, prompts = ratings.board(votes, asked), len(np.unique(votes.prompt))
    why = _why_not(found, prompts)
    by_name = {one.contestant: one for one in found.standings}
    return OfCategory(
        name, prompts, len(votes),
        tuple(Cell(None if why else by_name[who].rating, by_name[who].record) for who in votes.contestants),
        why, () if why else found.sentences,
    )  # fmt: skip


def _why_not(found: Board, prompts: int) -> tuple[str, ...]:
    if prompts < PROMPTS_AT_LEAST:
        return (f"It has {prompts} judged prompts, and less than {PROMPTS_AT_LEAST} say nothing of how sure they are.",)
    is_whole = len(found.groups) == 1 and len(found.groups[0].members) == len(found.standings)
    # Ratings of a part would stand beside other categories' on another scale.
    return () if is_whole else found.sentences


def is_narrow(prompts: int) -> bool:
    """True where so few prompts were resampled that intervals are known to be too narrow."""
    return prompts < FEW
