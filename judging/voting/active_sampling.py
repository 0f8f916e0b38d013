"""Which comparison a voter gets next where votes are to tell most: a pair by its worth, on the prompt least judged."""

from __future__ import annotations

from collections import Counter

import numpy as np
from django.db.models import Count, Q, QuerySet

from judging.models import Comparison, Tournament, Turn, Verdict, Voter
from judging.stats.ratings import Rule, next_pairs
from judging.stats.ratings.counts import Counts
from judging.stats.votes import Ints, Outcome

RULE = Rule()
TIED = [Outcome.TIE.name.lower(), Outcome.BOTH_BAD.name.lower()]


def choose(
    voter: Voter, free: QuerySet[Comparison], held: QuerySet[Turn], count: int, first: int
) -> list[tuple[Comparison, float]]:
    """So many comparisons of those that are `free` to the voter, in turn, each with the chance that it was chosen.

    held: turns that were judged or are in hand. The same choice is made for the voter's turn `first` whenever it is
    asked for, with the same votes.
    """
    tournament = voter.tournament
    place = {pk: k for k, pk in enumerate(tournament.contestants.order_by("place").values_list("pk", flat=True))}
    rng = np.random.default_rng([tournament.seed % 2**63, voter.number, first])
    pairs = next_pairs(
        _known(tournament, place), _met(held, place, "comparison__"), _met(free, place), count, rng, RULE
    )
    names, seen = list(place), _on_prompts(held)
    taken: set[int] = set()
    chosen = []
    for pair in pairs:
        two = free.filter(a=names[pair.one], b=names[pair.other]).exclude(pk__in=taken)
        rows = list(two.values_list("pk", "prompt"))
        fewest = min(seen[prompt] for _, prompt in rows)
        among = sorted(row for row in rows if seen[row[1]] == fewest)
        pk, prompt = among[rng.integers(len(among))]
        taken.add(pk)
        seen[prompt] += 1
        chosen.append((pk, pair.chance / len(among)))
    found = Comparison.objects.in_bulk(taken)
    return [(found[pk], chance) for pk, chance in chosen]


def _known(tournament: Tournament, place: dict[int, int]) -> list[Counts]:
    """What people said, by each criterion."""
    said = Verdict.objects.rating().filter(comparison__tournament=tournament, voter__isnull=False).order_by()
    a_won, b_won = (Count("pk", Q(outcome=outcome.name.lower())) for outcome in (Outcome.A, Outcome.B))
    rows = said.values("rubric", "comparison__a", "comparison__b").annotate(
        a_won=a_won, b_won=b_won, tied=Count("pk", Q(outcome__in=TIED))
    )
    found = {
        pk: Counts(np.zeros((len(place), len(place))), np.zeros((len(place), len(place))))
        for pk in tournament.rubrics.values_list("pk", flat=True)
    }
    for row in rows:
        one, other = place[row["comparison__a"]], place[row["comparison__b"]]
        counts = found[row["rubric"]]
        counts.wins[one, other] += row["a_won"]
        counts.wins[other, one] += row["b_won"]
        counts.ties[one, other] += row["tied"]
        counts.ties[other, one] += row["tied"]
    return list(found.values())


def _met(rows: QuerySet[Comparison] | QuerySet[Turn], place: dict[int, int], of: str = "") -> Ints:
    """How many rows are of each pair. int64[n, n], symmetric."""
    found = np.zeros((len(place), len(place)), np.int64)
    for a, b, n in rows.order_by().values_list(f"{of}a", f"{of}b").annotate(n=Count("pk")):
        if a is not None:
            found[place[a], place[b]] += n
            found[place[b], place[a]] += n
    return found


def _on_prompts(held: QuerySet[Turn]) -> Counter[int]:
    """How often an answer to each prompt was judged or handed out."""
    counted = held.order_by().values_list("comparison__prompt").annotate(n=Count("pk"))
    return Counter({prompt: n for prompt, n in counted if prompt is not None})
