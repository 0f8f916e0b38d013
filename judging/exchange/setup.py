"""How a tournament was made, as plain values: what a reader of its files needs to make it again, or to doubt it."""

from __future__ import annotations

from typing import Any

from judging.exchange.judgments import rubrics_of
from judging.models import Assignment, Tournament

SETTINGS = ("name", "question", "overlap", "picks", "reveals", "warns")
ENTRY = ("name", "step", "split")


def setup(tournament: Tournament, *, unblinded: bool) -> dict[str, Any]:
    """Its settings, contestants, criteria and prompts, and how each judge was asked. What a voter to be shall not know,
    the seed and the gold, is null where it is not `unblinded`."""
    gold = tournament.gold_set if unblinded else None
    return {
        **{name: getattr(tournament, name) for name in SETTINGS},
        "seed": tournament.seed if unblinded else None,
        "gold_every": None if gold is None else tournament.gold_every,
        "gold_set": None if gold is None else {"name": gold.name, "sha256": gold.sha256},
        "contestants": list(tournament.contestants.order_by("place").values(*ENTRY)),
        "criteria": [
            {"name": name, "rubric": str(one), "digest": one.digest} for one, name in rubrics_of(tournament).items()
        ],
        "prompts": tournament.chosen_prompts.count(),
        "judges": [_put(one) for one in _at_work(tournament)],
    }


def _at_work(tournament: Tournament) -> list[Assignment]:
    rows = tournament.assignments.select_related("judge").prefetch_related("rubrics__criterion")
    return list(rows.order_by("pk"))


def _put(row: Assignment) -> dict[str, Any]:
    return {
        "judge": row.judge.name, "model": row.judge.model, "digest": row.judge.digest, "state": row.state,
        "criteria": sorted(str(one) for one in row.rubrics.all()), "both_orders": row.both_orders,
        "samples": row.samples, "asks_twice": row.asks_twice, "planned": row.planned,
    }  # fmt: skip
