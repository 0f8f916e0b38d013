"""Compare scorers with judges, and list the contested comparisons, as plain values for a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from judging.boards.panels.scorers import Scorer
from judging.stats import agreement
from judging.stats.agreement import ContestedPair
from judging.stats.agreement.disputes import KINDS
from judging.stats.votes import Bools, Votes

MAX_DISPUTES_PER_KIND = 40
"""A page lists at most this many disputes of each kind, because it is not an export."""


def scorers_panel(votes: Votes, is_person: Bools, scorers: Sequence[Scorer]) -> list[dict[str, Any]]:
    """Return for each scorer how often it prefers the winner, and the comparisons on which it differs most."""
    return [_scorer_agreement(votes, is_person, scorer) for scorer in scorers]


def disputes_panel(votes: Votes, is_person: Bools) -> dict[str, Any]:
    """Return the number of disputes and the most contested ones, for each kind but the scorer's."""
    contested = agreement.contested_pairs(votes, is_person)
    return {kind: _most_contested(contested, kind) for kind in KINDS if kind != "scorer"}


def remove_contested(panels: dict[str, Any]) -> dict[str, Any]:
    """Return the panels with the numbers of contested comparisons but without the comparisons themselves.

    They are for users who may still vote on these comparisons.
    """
    return {
        **panels,
        "contested": {kind: disputes | {"shown": []} for kind, disputes in panels["contested"].items()},
        "scorers": [scorer | {"differing": scorer["differing"] | {"shown": []}} for scorer in panels["scorers"]],
    }


def _scorer_agreement(votes: Votes, is_person: Bools, scorer: Scorer) -> dict[str, Any]:
    comparison = agreement.compare_with_scorer(votes, scorer.scores)
    categories = [name for name in comparison.categories if name] if len(comparison.categories) > 1 else []
    return {
        "name": scorer.name,
        "all": asdict(comparison.all),
        "contestants": [asdict(contestant) for contestant in comparison.contestants],
        "categories": [{"name": name, **asdict(comparison.categories[name])} for name in categories],
        "cells": [
            {"contestant": k, "category": name, **asdict(cell)}
            for (k, name), cell in comparison.cells.items()
            if name in categories
        ],
        "unscored": comparison.unscored,
        "differing": _most_contested(agreement.contested_pairs(votes, is_person, scorer.scores), "scorer"),
    }


def _most_contested(contested: Sequence[ContestedPair], kind: str) -> dict[str, Any]:
    of_kind = sorted((dispute for dispute in contested if kind in dispute.how), key=lambda dispute: -dispute.how[kind])
    return {"all": len(of_kind), "shown": [asdict(dispute) for dispute in of_kind[:MAX_DISPUTES_PER_KIND]]}
