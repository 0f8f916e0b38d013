"""What scorers said of the answers that meet in a tournament: the runs' own rewards, and scores given afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from django.db.models import Q, QuerySet

from judging.models import Comparison, Tournament
from judging.stats.votes import Floats, Votes
from runs.models import Response, Score

COST = "cost"
"""The key of what is better the lower it is."""


@dataclass(frozen=True)
class Scorer:
    """scores: float64[prompts, contestants] of some votes, the higher the better, NaN where it said nothing."""

    name: str
    scores: Floats


@dataclass(frozen=True)
class _Answers:
    """Where each answer stands: response id -> (prompt's number, contestant's number). size: of the whole table."""

    place: dict[int, tuple[int, int]]
    size: tuple[int, int]

    def table(self, values: dict[int, float]) -> Floats:
        """float64[prompts, contestants] of response id -> number."""
        found = np.full(self.size, np.nan)
        for pk, value in values.items():
            found[self.place[pk]] = value
        return found


def scorers_in(tournament: Tournament, votes: Votes) -> list[Scorer]:
    """All that scored at least one of its answers: reward, -cost, reward - cost of the runs themselves; then each
    scorer's of afterwards, by name."""
    answers = _answers(tournament, votes)
    own = _own(tournament, answers)
    return [one for one in (*own, *_later(tournament, answers)) if np.isfinite(one.scores).any()]


def scores_of(tournament: Tournament) -> QuerySet[Score]:
    """Those that were given afterwards to answers that meet in it."""
    return Score.objects.filter(response__in=responses_of(tournament))


def responses_of(tournament: Tournament) -> QuerySet[Response]:
    """The answers that meet in it."""
    met = Comparison.objects.filter(tournament=tournament, gold_pair=None)
    return Response.objects.filter(Q(pk__in=met.values("response_a")) | Q(pk__in=met.values("response_b")))


def _answers(tournament: Tournament, votes: Votes) -> _Answers:
    prompts = {int(name): k for k, name in enumerate(votes.prompts)}
    number = {name: k for k, name in enumerate(votes.contestants)}
    # Who came after the votes were read stands in none of them.
    order = {pk: number[name] for pk, name in tournament.contestants.values_list("pk", "name") if name in number}
    place = {}
    met = tournament.comparisons.filter(gold_pair=None, prompt__place__in=prompts)
    for at, *sides in met.values_list("prompt__place", "a", "response_a", "b", "response_b"):
        for contestant, response in (sides[:2], sides[2:]):
            if response is not None and contestant in order:
                place[response] = (prompts[at], order[contestant])
    return _Answers(place, (len(prompts), len(number)))


def _own(tournament: Tournament, answers: _Answers) -> Iterator[Scorer]:
    rows = [row for row in responses_of(tournament).values_list("pk", "reward", "cost") if row[0] in answers.place]
    reward = answers.table({pk: reward for pk, reward, _ in rows})
    cost = answers.table({pk: cost for pk, _, cost in rows if cost is not None})
    yield Scorer("reward", reward)
    yield Scorer("-cost", -cost)
    yield Scorer("reward - cost", reward - cost)


def _later(tournament: Tournament, answers: _Answers) -> Iterator[Scorer]:
    found: dict[tuple[str, str], dict[int, float]] = {}
    rows = scores_of(tournament).order_by("scorer", "key", "pk").values_list("scorer", "key", "response", "value")
    for scorer, key, response, value in rows:
        if response in answers.place:
            found.setdefault((scorer, key), {})[response] = -value if key == COST else value
    for (scorer, key), values in found.items():
        yield Scorer(f"{scorer}: {'-' if key == COST else ''}{key}", answers.table(values))
