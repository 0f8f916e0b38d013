"""Compute ratings in each category of prompts, to show whether the overall leader leads in every category.

A category's ratings use only the votes on its prompts, and compare all contestants with each other. The mean rating is
the same in each category. Categories overlap: a vote counts in each category that its prompt has.
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
"""Show at most this many categories, those with the most votes. PKU-SafeRLHF names 19 harms."""
PROMPTS_AT_LEAST = 5
"""A category needs this many prompts: resampling fewer says next to nothing about the uncertainty of a rating."""
RESAMPLES = 200
"""Fewer resamples than a board has, because there are many categories and the board waits for all of them."""


@dataclass(frozen=True)
class Cell:
    """Result of a contestant in a category. rating: None if the category has no ratings or the contestant has none."""

    rating: Range | None
    record: Record


@dataclass(frozen=True)
class OfCategory:
    """Ratings of one category.

    prompts, votes: the numbers that count. cells: by contestants' numbers. why: the reasons why it has no ratings,
    empty if it has ratings. sentences: notes on its ratings.
    """

    category: str
    prompts: int
    votes: int
    cells: tuple[Cell, ...]
    why: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class ByCategory:
    """Ratings of all categories.

    shown: the categories with ratings, most votes first. others: (category, prompts, votes) of the remaining
    categories. none: the numbers of prompts and votes without a category.
    """

    shown: tuple[OfCategory, ...]
    others: tuple[tuple[str, int, int], ...]
    none: tuple[int, int]
    resamples: int = RESAMPLES

    def to_json(self) -> Any:
        """Return all fields as plain values."""
        return plain(asdict(self))


def by_category(votes: Votes, asked: RatingOptions, swap: str = "as-is") -> ByCategory | None:
    """Rate each category with the settings of the whole board, but without an anchor and with RESAMPLES resamples.

    Return None if no prompt has a category.
    """
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
    """Return whether there are so few prompts to resample that intervals are known to be too narrow."""
    return prompts < FEW
