"""Verdicts of a tournament, written in bulk: of imported people, and of the judge that is no model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from judging.judges import rules_judge
from judging.models import Comparison, Judge, Rubric, Side, Tournament, Verdict, Voter
from judging.stats.votes import Outcome, Votes

TURNED = {Outcome.A: Outcome.B, Outcome.B: Outcome.A}


def first_votes(votes: Votes) -> Votes:
    """Return the first vote of each annotator on each pair and prompt: people vote once."""
    low, high = np.minimum(votes.a, votes.b), np.maximum(votes.a, votes.b)
    _, first = np.unique(np.stack([votes.annotator, votes.prompt, low, high]), axis=1, return_index=True)
    return votes.select(np.sort(first))


def a_before_b(votes: Votes) -> Votes:
    """Return the same votes with a before b, as the database stores them."""
    back = votes.a > votes.b
    turned = np.array([TURNED.get(outcome, outcome) for outcome in Outcome], np.int64)
    return replace(
        votes,
        a=np.where(back, votes.b, votes.a),
        b=np.where(back, votes.a, votes.b),
        outcome=np.where(back, turned[votes.outcome], votes.outcome),
        shown_first=np.where(back, -votes.shown_first, votes.shown_first),
    )


def cast(tournament: Tournament, rubric: Rubric, votes: Votes) -> list[Verdict]:
    """Save each vote as the verdict of the voter with its annotator's number; contestants and prompts by place."""
    existing = set(tournament.voters.values_list("number", flat=True))
    Voter.objects.bulk_create(
        Voter(tournament=tournament, number=k, imported_name=f"secret name {k}")
        for k in set(votes.annotator.tolist()) - existing
    )
    voters = dict(tournament.voters.values_list("number", "pk"))
    comparison_ids = comparisons(tournament)
    votes = a_before_b(votes)
    columns = (votes.prompt, votes.a, votes.b, votes.annotator, votes.outcome, votes.shown_first)
    return Verdict.objects.bulk_create(
        Verdict(
            comparison_id=comparison_ids[prompt, a, b], rubric=rubric, voter_id=voters[annotator],
            outcome=Outcome(outcome).name.lower(), first={1: Side.A.value, -1: Side.B.value, 0: ""}[first],
        )
        for prompt, a, b, annotator, outcome, first in zip(*(column.tolist() for column in columns), strict=True)
    )  # fmt: skip


def comparisons(tournament: Tournament) -> dict[tuple[int, int, int], int]:
    """Return the comparisons' ids by (prompt's place, a's place, b's place)."""
    rows = Comparison.objects.filter(tournament=tournament, gold_pair=None)
    return {(prompt, a, b): pk for pk, prompt, a, b in rows.values_list("pk", "prompt__place", "a__place", "b__place")}


def add_judge_verdicts(
    tournament: Tournament, rubric: Rubric, outcome: Outcome = Outcome.A, judge: Judge | None = None
) -> Judge:
    """Save one outcome of the judge (default: rules) for every comparison, a first; return the judge."""
    judge = judge or rules_judge()
    Verdict.objects.bulk_create(
        Verdict(comparison_id=pk, rubric=rubric, judge=judge, outcome=outcome.name.lower(), first=Side.A.value)
        for pk in comparisons(tournament).values()
    )
    return judge
