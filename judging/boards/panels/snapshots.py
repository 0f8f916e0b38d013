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

from judging.boards.panels.agreement import agreed
from judging.boards.panels.bias import length, policies, position, ties
from judging.boards.panels.disputes import against_scorers, disputed
from judging.boards.panels.scorers import scorers_in, scores_of
from judging.boards.report.report import plain
from judging.boards.votes import votes_in
from judging.models import Calibration, Rubric, Tournament, Verdict
from judging.stats.votes import Bools, Votes

SHAPE = 4
"""Version of stored panels: panels of another version are computed again."""
KEPT_SECONDS = 30 * 24 * 3600
LOST_AFTER_SECONDS = 240
"""After this time a claim expires. It is longer than the job that computes the panels may take."""


@dataclass(frozen=True)
class PanelSnapshot:
    """Panels as computed at the time `at`. is_current: whether nothing has changed since."""

    panels: dict[str, Any]
    at: datetime
    is_current: bool


def kept(tournament: Tournament, rubric: Rubric) -> PanelSnapshot | None:
    """Return the panels that were computed last, or None if there are none or the cache lost them."""
    found = cache.get(_key(tournament, rubric))
    if found is None:
        return None
    said = json.loads(found)
    return PanelSnapshot(
        said["panels"], datetime.fromisoformat(said["at"]), said["stamp"] == _stamp(tournament, rubric)
    )


def work_out(tournament: Tournament, rubric: Rubric) -> PanelSnapshot:
    """Compute the panels, store them and remove the claim."""
    # Taken first: what changes meanwhile makes them old at once, not unnoticed.
    stamp, at = _stamp(tournament, rubric), timezone.now()
    panels = plain(_panels(tournament, rubric))
    said = {"panels": panels, "at": at.isoformat(), "stamp": stamp}
    cache.set(_key(tournament, rubric), json.dumps(said), KEPT_SECONDS)
    cache.delete(f"{_key(tournament, rubric)}-claimed")
    return PanelSnapshot(json.loads(json.dumps(panels)), at, is_current=True)


def claim(tournament: Tournament, rubric: Rubric) -> bool:
    """Return whether the caller may compute the panels: True for one caller at a time.

    The claim ends with `work_out`, or after LOST_AFTER_SECONDS, when the caller's job must have failed.
    """
    return cache.add(f"{_key(tournament, rubric)}-claimed", 1, LOST_AFTER_SECONDS)


def _panels(tournament: Tournament, rubric: Rubric) -> dict[str, Any]:
    votes = votes_in(tournament, rubric)
    is_person = _people(tournament, votes)
    return {
        "contestants": votes.contestants,
        "prompts": [int(name) for name in votes.prompts],
        "votes": len(votes.counted),
        "failed": len(votes) - len(votes.counted),
        "position": position(votes, is_person),
        "policies": policies(votes),
        "ties": ties(votes),
        "length": length(votes),
        "agreement": agreed(votes, is_person),
        "scorers": against_scorers(votes, is_person, scorers_in(tournament, votes)),
        "contested": disputed(votes, is_person),
    }


def _people(tournament: Tournament, votes: Votes) -> Bools:
    """Return which annotators are voters: bool[annotators]."""
    people = {f"person {number + 1}" for number in tournament.voters.values_list("number", flat=True)}
    return np.array([name in people for name in votes.annotators], np.bool_)


def _key(tournament: Tournament, rubric: Rubric) -> str:
    # By when it was made too: a database that is made anew counts from 1 again.
    return f"judging-panels-{tournament.pk}-{tournament.created_at.timestamp()}-{rubric.pk}"


def _stamp(tournament: Tournament, rubric: Rubric) -> str:
    """Return a hash that changes when a verdict, calibration, score or SHAPE changes, and the panels with it."""
    verdicts = Verdict.objects.filter(comparison__tournament=tournament, rubric=rubric)
    given = verdicts.aggregate(last=Max("pk"), holding=Count("pk", Q(replaced_at=None)), gone=Max("replaced_at"))
    calibrated = Calibration.objects.filter(rubric=rubric).aggregate(last=Max("pk"), number=Count("pk"))
    scored = scores_of(tournament).aggregate(last=Max("at"), number=Count("pk"))
    said = [SHAPE, *given.values(), *calibrated.values(), *scored.values()]
    return sha256(json.dumps(said, default=str).encode()).hexdigest()
