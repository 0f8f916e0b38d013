"""Compute ratings in each category of prompts, to show whether the overall leader leads in every category.

A category's ratings use only the votes on its prompts, and compare all contestants with each other. The mean rating is
the same in each category. Categories overlap: a vote counts in each category that its prompt has.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from judging.boards.report.report import to_plain
from judging.stats import agreement, ratings
from judging.stats.ratings import Board, Range, RatingOptions
from judging.stats.ratings.bootstrap import MIN_CLUSTERS
from judging.stats.ratings.standings import Record
from judging.stats.votes import Votes

MAX_CATEGORIES = 20
"""Show at most this many categories, those with the most votes. PKU-SafeRLHF names 19 harms."""
MIN_PROMPTS = 5
"""A category needs this many prompts: fewer show almost nothing about the uncertainty of a rating."""
RESAMPLES = 200
"""Fewer resamples than a board has, because there are many categories and the board waits for all of them."""


@dataclass(frozen=True)
class Cell:
    """Result of a contestant in a category. rating: None if the category has no ratings or the contestant has none."""

    rating: Range | None
    record: Record


@dataclass(frozen=True)
class CategoryRatings:
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
class RatingsByCategory:
    """Ratings of all categories.

    shown: the categories with ratings, most votes first. others: (category, prompts, votes) of the remaining
    categories. none: the numbers of prompts and votes without a category.
    """

    shown: tuple[CategoryRatings, ...]
    others: tuple[tuple[str, int, int], ...]
    none: tuple[int, int]
    resamples: int = RESAMPLES

    def to_json(self) -> Any:
        """Return all fields as plain values."""
        return to_plain(asdict(self))


def rate_by_category(votes: Votes, options: RatingOptions, swap: str = "as-is") -> RatingsByCategory | None:
    """Rate each category with the settings of the whole board, but without an anchor and with RESAMPLES resamples.

    Return None if no prompt has a category.
    """
    rated = agreement.apply_swap_policy(votes, swap).counted
    masks = rated.categories
    size = {name: (len(np.unique(rated.prompt[mask])), int(mask.sum())) for name, mask in masks.items()}
    named = sorted(masks.keys() - {""}, key=lambda name: (-size[name][1], name))
    if not named:
        return None
    options = replace(options, anchor=None, resampling=replace(options.resampling, resamples=RESAMPLES))
    return RatingsByCategory(
        tuple(_rate_category(name, rated.select(masks[name]), options) for name in named[:MAX_CATEGORIES]),
        tuple((name, *size[name]) for name in named[MAX_CATEGORIES:]),
        size.get("", (0, 0)),
    )


def _rate_category(name: str, votes: Votes, options: RatingOptions) -> CategoryRatings:
    board, prompts = ratings.compute_board(votes, options), len(np.unique(votes.prompt))
    reasons = _missing_reasons(board, prompts)
    by_name = {standing.contestant: standing for standing in board.standings}
    return CategoryRatings(
        name, prompts, len(votes),
        tuple(Cell(None if reasons else by_name[name].rating, by_name[name].record) for name in votes.contestants),
        reasons, () if reasons else board.sentences,
    )  # fmt: skip


def _missing_reasons(board: Board, prompts: int) -> tuple[str, ...]:
    if prompts < MIN_PROMPTS:
        return (f"It has {prompts} judged prompts, and less than {MIN_PROMPTS} say nothing of how sure they are.",)
    is_whole = len(board.groups) == 1 and len(board.groups[0].members) == len(board.standings)
    # Ratings of only some contestants would be on another scale than those of other categories.
    return () if is_whole else board.sentences


def has_few_prompts(prompts: int) -> bool:
    """Return whether there are so few prompts that intervals are only rough."""
    return prompts < MIN_CLUSTERS
