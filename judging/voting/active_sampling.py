"""Active sampling of a voter's next comparison: the pair by its information gain, on the least judged prompt."""

from __future__ import annotations

from collections import Counter

import numpy as np
from django.db.models import Count, Q, QuerySet

from judging.models import Comparison, Tournament, Turn, Verdict, Voter
from judging.stats.ratings import Rule, select_next_pairs
from judging.stats.ratings.counts import Counts
from judging.stats.votes import Ints, Outcome

RULE = Rule()
TIED = [Outcome.TIE.name.lower(), Outcome.BOTH_BAD.name.lower()]


def select_comparisons(
    voter: Voter, free: QuerySet[Comparison], handed_out: QuerySet[Turn], count: int, first: int
) -> list[tuple[Comparison, float]]:
    """Select `count` comparisons from those that are `free` to the voter, each with the probability of its choice.

    handed_out: turns that were judged or are with a voter. With the same votes, the choice for the voter's turn `first`
    is always the same.
    """
    tournament = voter.tournament
    number_of = {pk: k for k, pk in enumerate(tournament.contestants.order_by("place").values_list("pk", flat=True))}
    rng = np.random.default_rng([tournament.seed % 2**63, voter.number, first])
    pairs = select_next_pairs(
        _voter_counts(tournament, number_of),
        _pair_table(handed_out, number_of, "comparison__"),
        _pair_table(free, number_of),
        count,
        rng,
        RULE,
    )
    contestant_ids, prompt_counts = list(number_of), _prompt_counts(handed_out)
    selected_pks: set[int] = set()
    selected = []
    for pair in pairs:
        pair_comparisons = free.filter(a=contestant_ids[pair.first], b=contestant_ids[pair.second]).exclude(
            pk__in=selected_pks
        )
        rows = list(pair_comparisons.values_list("pk", "prompt"))
        fewest = min(prompt_counts[prompt] for _, prompt in rows)
        candidates = sorted(row for row in rows if prompt_counts[row[1]] == fewest)
        pk, prompt = candidates[rng.integers(len(candidates))]
        selected_pks.add(pk)
        prompt_counts[prompt] += 1
        selected.append((pk, pair.chance / len(candidates)))
    comparisons = Comparison.objects.in_bulk(selected_pks)
    return [(comparisons[pk], chance) for pk, chance in selected]


def _voter_counts(tournament: Tournament, number_of: dict[int, int]) -> list[Counts]:
    """Return the voters' wins and ties by each criterion."""
    verdicts = Verdict.objects.rating().filter(comparison__tournament=tournament, voter__isnull=False).order_by()
    a_won, b_won = (Count("pk", Q(outcome=outcome.name.lower())) for outcome in (Outcome.A, Outcome.B))
    rows = verdicts.values("rubric", "comparison__a", "comparison__b").annotate(
        a_won=a_won, b_won=b_won, tied=Count("pk", Q(outcome__in=TIED))
    )
    counts_by_rubric = {
        pk: Counts(np.zeros((len(number_of), len(number_of))), np.zeros((len(number_of), len(number_of))))
        for pk in tournament.rubrics.values_list("pk", flat=True)
    }
    for row in rows:
        first, second = number_of[row["comparison__a"]], number_of[row["comparison__b"]]
        counts = counts_by_rubric[row["rubric"]]
        counts.wins[first, second] += row["a_won"]
        counts.wins[second, first] += row["b_won"]
        counts.ties[first, second] += row["tied"]
        counts.ties[second, first] += row["tied"]
    return list(counts_by_rubric.values())


def _pair_table(rows: QuerySet[Comparison] | QuerySet[Turn], number_of: dict[int, int], prefix: str = "") -> Ints:
    """Return the number of rows of each pair. int64[n, n], symmetric."""
    table = np.zeros((len(number_of), len(number_of)), np.int64)
    for a, b, n in rows.order_by().values_list(f"{prefix}a", f"{prefix}b").annotate(n=Count("pk")):
        if a is not None:
            table[number_of[a], number_of[b]] += n
            table[number_of[b], number_of[a]] += n
    return table


def _prompt_counts(handed_out: QuerySet[Turn]) -> Counter[int]:
    """Return how often each prompt was judged or handed out."""
    counted = handed_out.order_by().values_list("comparison__prompt").annotate(n=Count("pk"))
    return Counter({prompt: n for prompt, n in counted if prompt is not None})
