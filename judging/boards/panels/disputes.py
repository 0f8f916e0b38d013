"""Scorers held against judges, and the comparisons that are contested, as plain values for a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from judging.boards.panels.scorers import Scorer
from judging.stats import agreement
from judging.stats.agreement import Contested
from judging.stats.agreement.contested import KINDS
from judging.stats.votes import Bools, Votes

SHOWN = 40
"""Of each kind of dispute: a page that people read, not an export."""


def against_scorers(votes: Votes, is_person: Bools, scorers: Sequence[Scorer]) -> list[dict[str, Any]]:
    """Of each scorer: how often it prefers who won, and where it most differs."""
    return [_against(votes, is_person, one) for one in scorers]


def disputed(votes: Votes, is_person: Bools) -> dict[str, Any]:
    """Of each kind but the scorer's: how many, and the most contested."""
    found = agreement.contested(votes, is_person)
    return {kind: _shown(found, kind) for kind in KINDS if kind != "scorer"}


def untold(panels: dict[str, Any]) -> dict[str, Any]:
    """Panels that say how many comparisons are contested, and not which: for who may still vote on them."""
    return {
        **panels,
        "contested": {kind: one | {"shown": []} for kind, one in panels["contested"].items()},
        "scorers": [one | {"differing": one["differing"] | {"shown": []}} for one in panels["scorers"]],
    }


def _against(votes: Votes, is_person: Bools, scorer: Scorer) -> dict[str, Any]:
    found = agreement.against(votes, scorer.scores)
    categories = [name for name in found.categories if name] if len(found.categories) > 1 else []
    return {
        "name": scorer.name,
        "all": asdict(found.all),
        "contestants": [asdict(one) for one in found.contestants],
        "categories": [{"name": name, **asdict(found.categories[name])} for name in categories],
        "cells": [
            {"contestant": k, "category": name, **asdict(one)}
            for (k, name), one in found.cells.items()
            if name in categories
        ],
        "unscored": found.unscored,
        "differing": _shown(agreement.contested(votes, is_person, scorer.scores), "scorer"),
    }


def _shown(found: Sequence[Contested], kind: str) -> dict[str, Any]:
    own = sorted((one for one in found if kind in one.how), key=lambda one: -one.how[kind])
    return {"all": len(own), "shown": [asdict(one) for one in own[:SHOWN]]}
