"""Panels are worked out once for the verdicts, calibrations and scores that there are, and kept in the cache until one
of those changes. What is lost with the cache is worked out again.
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
"""Of what is kept. Another one, and what an older version kept is worked out again."""
KEPT_SECONDS = 30 * 24 * 3600
LOST_AFTER_SECONDS = 240
"""Longer than the job that works it out may take."""


@dataclass(frozen=True)
class PanelSnapshot:
    """The panels as they were worked out. is_current: nothing has changed since."""

    panels: dict[str, Any]
    at: datetime
    is_current: bool


def kept(tournament: Tournament, rubric: Rubric) -> PanelSnapshot | None:
    """What was worked out last; None where that never was, or is lost."""
    found = cache.get(_key(tournament, rubric))
    if found is None:
        return None
    said = json.loads(found)
    return PanelSnapshot(
        said["panels"], datetime.fromisoformat(said["at"]), said["stamp"] == _stamp(tournament, rubric)
    )


def work_out(tournament: Tournament, rubric: Rubric) -> PanelSnapshot:
    """Works the panels out and keeps them."""
    # Taken first: what changes meanwhile makes them old at once, not unnoticed.
    stamp, at = _stamp(tournament, rubric), timezone.now()
    panels = plain(_panels(tournament, rubric))
    said = {"panels": panels, "at": at.isoformat(), "stamp": stamp}
    cache.set(_key(tournament, rubric), json.dumps(said), KEPT_SECONDS)
    cache.delete(f"{_key(tournament, rubric)}-claimed")
    return PanelSnapshot(json.loads(json.dumps(panels)), at, is_current=True)


def claim(tournament: Tournament, rubric: Rubric) -> bool:
    """True for one of all who want it worked out, until it is, or until whoever does it must have been lost."""
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
    """Which annotators are people. bool[annotators]."""
    people = {f"person {number + 1}" for number in tournament.voters.values_list("number", flat=True)}
    return np.array([name in people for name in votes.annotators], np.bool_)


def _key(tournament: Tournament, rubric: Rubric) -> str:
    # By when it was made too: a database that is made anew counts from 1 again.
    return f"judging-panels-{tournament.pk}-{tournament.created_at.timestamp()}-{rubric.pk}"


def _stamp(tournament: Tournament, rubric: Rubric) -> str:
    """The same as long as the panels are."""
    verdicts = Verdict.objects.filter(comparison__tournament=tournament, rubric=rubric)
    given = verdicts.aggregate(last=Max("pk"), holding=Count("pk", Q(replaced_at=None)), gone=Max("replaced_at"))
    calibrated = Calibration.objects.filter(rubric=rubric).aggregate(last=Max("pk"), number=Count("pk"))
    scored = scores_of(tournament).aggregate(last=Max("at"), number=Count("pk"))
    said = [SHAPE, *given.values(), *calibrated.values(), *scored.values()]
    return sha256(json.dumps(said, default=str).encode()).hexdigest()
