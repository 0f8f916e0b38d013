"""Verdicts of a tournament, written in bulk: those of people who came by name, and of the judge that is no model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from judging.judges import rules_judge
from judging.models import Comparison, Judge, Rubric, Side, Tournament, Verdict, Voter
from judging.stats.votes import Outcome, Votes

TURNED = {Outcome.A: Outcome.B, Outcome.B: Outcome.A}


def once(votes: Votes) -> Votes:
    """The first that each annotator said of each pair and prompt: people say it once."""
    low, high = np.minimum(votes.a, votes.b), np.maximum(votes.a, votes.b)
    _, first = np.unique(np.stack([votes.annotator, votes.prompt, low, high]), axis=1, return_index=True)
    return votes.where(np.sort(first))


def a_before_b(votes: Votes) -> Votes:
    """The same votes, told as the database does."""
    back = votes.a > votes.b
    turned = np.array([TURNED.get(one, one) for one in Outcome], np.int64)
    return replace(
        votes,
        a=np.where(back, votes.b, votes.a),
        b=np.where(back, votes.a, votes.b),
        outcome=np.where(back, turned[votes.outcome], votes.outcome),
        shown_first=np.where(back, -votes.shown_first, votes.shown_first),
    )


def cast(tournament: Tournament, rubric: Rubric, votes: Votes) -> list[Verdict]:
    """Each vote as the verdict of a person whose number is its annotator's; contestants and prompts go by place."""
    known = set(tournament.voters.values_list("number", flat=True))
    Voter.objects.bulk_create(
        Voter(tournament=tournament, number=k, imported_name=f"secret name {k}")
        for k in set(votes.annotator.tolist()) - known
    )
    voters = dict(tournament.voters.values_list("number", "pk"))
    place = comparisons(tournament)
    votes = a_before_b(votes)
    columns = (votes.prompt, votes.a, votes.b, votes.annotator, votes.outcome, votes.shown_first)
    return Verdict.objects.bulk_create(
        Verdict(
            comparison_id=place[prompt, a, b], rubric=rubric, voter_id=voters[annotator],
            outcome=Outcome(outcome).name.lower(), first={1: Side.A.value, -1: Side.B.value, 0: ""}[first],
        )
        for prompt, a, b, annotator, outcome, first in zip(*(column.tolist() for column in columns), strict=True)
    )  # fmt: skip


def comparisons(tournament: Tournament) -> dict[tuple[int, int, int], int]:
    """(prompt's place, a's place, b's place) -> the comparison's id."""
    rows = Comparison.objects.filter(tournament=tournament, gold_pair=None)
    return {(prompt, a, b): pk for pk, prompt, a, b in rows.values_list("pk", "prompt__place", "a__place", "b__place")}


def ruled(tournament: Tournament, rubric: Rubric, outcome: Outcome = Outcome.A, judge: Judge | None = None) -> Judge:
    """The judge said the same of every comparison, a first: by rules where no other is given."""
    judge = judge or rules_judge()
    Verdict.objects.bulk_create(
        Verdict(comparison_id=pk, rubric=rubric, judge=judge, outcome=outcome.name.lower(), first=Side.A.value)
        for pk in comparisons(tournament).values()
    )
    return judge
