"""Compute panels once for the present verdicts, calibrations and scores, and store them in the cache.

Stored panels are out of date as soon as one of these changes. If the cache loses them, they are computed again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

import numpy as np
from django.core.cache import cache
from django.db.models import Count, Max, Q
from django.utils import timezone

from judging.boards.panels.agreement import agreement_panel
from judging.boards.panels.bias import length_panel, policies_panel, position_panel, ties_panel
from judging.boards.panels.disputes import disputes_panel, scorers_panel
from judging.boards.panels.scorers import list_scorers, scores_in
from judging.boards.report.report import to_plain
from judging.boards.votes import votes_in
from judging.models import Calibration, Rubric, Tournament, Verdict
from judging.stats.votes import Bools, Votes

FORMAT_VERSION = 4
"""Version of stored panels: panels of another version are computed again."""
CACHE_SECONDS = 30 * 24 * 3600
CLAIM_SECONDS = 240
"""After this time a claim expires. It is longer than the job that computes the panels may take."""


@dataclass(frozen=True)
class PanelSnapshot:
    """Panels as computed at the time `at`. is_current: whether nothing has changed since."""

    panels: dict[str, Any]
    at: datetime
    is_current: bool


def stored_panels(tournament: Tournament, rubric: Rubric) -> PanelSnapshot | None:
    """Return the panels that were computed last, or None if there are none or the cache lost them."""
    cached = cache.get(_key(tournament, rubric))
    if cached is None:
        return None
    content = json.loads(cached)
    return PanelSnapshot(
        content["panels"], datetime.fromisoformat(content["at"]), content["stamp"] == _stamp(tournament, rubric)
    )


def compute_panels(tournament: Tournament, rubric: Rubric) -> PanelSnapshot:
    """Compute the panels, store them and remove the claim."""
    # The stamp is read first, so that a change during the computation makes the panels outdated.
    stamp, at = _stamp(tournament, rubric), timezone.now()
    panels = to_plain(_panels(tournament, rubric))
    content = {"panels": panels, "at": at.isoformat(), "stamp": stamp}
    cache.set(_key(tournament, rubric), json.dumps(content), CACHE_SECONDS)
    cache.delete(f"{_key(tournament, rubric)}-claimed")
    return PanelSnapshot(json.loads(json.dumps(panels)), at, is_current=True)


def claim_panels(tournament: Tournament, rubric: Rubric) -> bool:
    """Return whether the caller may compute the panels: True for one caller at a time.

    The claim ends with `compute_panels`, or after CLAIM_SECONDS, when the caller's job must have failed.
    """
    return cache.add(f"{_key(tournament, rubric)}-claimed", 1, CLAIM_SECONDS)


def _panels(tournament: Tournament, rubric: Rubric) -> dict[str, Any]:
    votes = votes_in(tournament, rubric)
    is_person = _voter_mask(tournament, votes)
    return {
        "contestants": votes.contestants,
        "prompts": [int(name) for name in votes.prompts],
        "votes": len(votes.counted),
        "failed": len(votes) - len(votes.counted),
        "position": position_panel(votes, is_person),
        "policies": policies_panel(votes),
        "ties": ties_panel(votes),
        "length": length_panel(votes),
        "agreement": agreement_panel(votes, is_person),
        "scorers": scorers_panel(votes, is_person, list_scorers(tournament, votes)),
        "contested": disputes_panel(votes, is_person),
    }


def _voter_mask(tournament: Tournament, votes: Votes) -> Bools:
    """Return which annotators are voters: bool[annotators]."""
    voter_names = {f"person {number + 1}" for number in tournament.voters.values_list("number", flat=True)}
    return np.array([name in voter_names for name in votes.annotators], np.bool_)


def _key(tournament: Tournament, rubric: Rubric) -> str:
    # The key has the creation time too, because a database that is created again counts ids from 1.
    return f"judging-panels-{tournament.pk}-{tournament.created_at.timestamp()}-{rubric.pk}"


def _stamp(tournament: Tournament, rubric: Rubric) -> str:
    """Return a hash that changes when a verdict, calibration, score or SHAPE changes, and the panels with it."""
    verdicts = Verdict.objects.filter(comparison__tournament=tournament, rubric=rubric)
    verdict_stats = verdicts.aggregate(
        last=Max("pk"), holding=Count("pk", Q(replaced_at=None)), gone=Max("replaced_at")
    )
    calibration_stats = Calibration.objects.filter(rubric=rubric).aggregate(last=Max("pk"), number=Count("pk"))
    score_stats = scores_in(tournament).aggregate(last=Max("at"), number=Count("pk"))
    values = [FORMAT_VERSION, *verdict_stats.values(), *calibration_stats.values(), *score_stats.values()]
    return sha256(json.dumps(values, default=str).encode()).hexdigest()
