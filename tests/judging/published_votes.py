"""Votes with published figures: read from next to the project if they are there, else skipped."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from judging.stats.ratings.counts import Counts
from judging.stats.votes import Outcome, Votes, read_judgments, votes_by_criterion, votes_from_arrays

FOLDERS = [parent / "shared" / "data" for parent in Path(__file__).parents[2:5]]
FOLDER = next((folder for folder in FOLDERS if (folder / "judging").is_dir()), None)
needs_data = pytest.mark.skipif(FOLDER is None, reason="the published judgments and classics are not here")


def judgments_path() -> Path:
    assert FOLDER is not None
    return FOLDER / "alignment" / "judgments_numeric.jsonl"


@cache
def published_votes(criterion: str) -> Votes:
    path = judgments_path()
    return votes_by_criterion(read_judgments(path.read_text(), path.name).judgments, criterion)


def published_elo() -> dict[str, float]:
    assert FOLDER is not None
    return json.loads((FOLDER / "alignment" / "published_elo_helpfulness.json").read_text())["helpfulness"]


def classic(name: str) -> list[dict[str, str]]:
    assert FOLDER is not None
    with (FOLDER / "judging" / "bt_classics" / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def baseball() -> Votes:
    """Return baseball games as votes; the home team is the one shown first."""
    rows = classic("baseball")
    teams = tuple(sorted({row["home.team"] for row in rows}))
    games = [
        (teams.index(row["home.team"]), teams.index(row["away.team"]), outcome)
        for row in rows
        for outcome, key in ((Outcome.A, "home.wins"), (Outcome.B, "away.wins"))
        for _ in range(int(row[key]))
    ]
    return votes_from_arrays(teams, *np.array(games).T)


def citations() -> tuple[tuple[str, ...], Counts]:
    """Return citations between journals; a journal wins by being cited."""
    rows = classic("citations")
    journals = tuple(sorted({row["cited"] for row in rows}))
    wins = np.zeros((len(journals), len(journals)))
    for row in rows:
        if row["cited"] != row["citing"]:
            wins[journals.index(row["cited"]), journals.index(row["citing"])] = float(row["count"])
    return journals, Counts(wins, np.zeros_like(wins))


def pudding() -> Counts:
    """Return counts of six puddings in pairs, with ties."""
    wins, ties = np.zeros((6, 6)), np.zeros((6, 6))
    for row in classic("pudding"):
        i, j = int(row["i"]) - 1, int(row["j"]) - 1
        wins[i, j], wins[j, i] = float(row["w_ij"]), float(row["w_ji"])
        ties[i, j] = ties[j, i] = float(row["t_ij"])
    return Counts(wins, ties)
