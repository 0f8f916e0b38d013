"""Scores of the responses that meet in a tournament: the runs' own rewards, and scores given afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from django.db.models import Q, QuerySet

from judging.models import Comparison, Tournament
from judging.stats.votes import Floats, Votes
from runs.models import Response, Score

COST = "cost"
"""Key of scores that are better if they are lower."""


@dataclass(frozen=True)
class Scorer:
    """Scores of one scorer.

    scores: float64[prompts, contestants] of some votes, the higher the better, NaN if the scorer gave none.
    """

    name: str
    scores: Floats


@dataclass(frozen=True)
class _ResponseCells:
    """Table position of each response.

    cells: response id -> (prompt's number, contestant's number). size: shape of the whole table.
    """

    cells: dict[int, tuple[int, int]]
    size: tuple[int, int]

    def table(self, values: dict[int, float]) -> Floats:
        """Return float64[prompts, contestants] with the values, which are keyed by response id; NaN elsewhere."""
        table = np.full(self.size, np.nan)
        for pk, value in values.items():
            table[self.cells[pk]] = value
        return table


def list_scorers(tournament: Tournament, votes: Votes) -> list[Scorer]:
    """Return all scorers that scored at least one of the tournament's responses.

    First come reward, -cost and reward - cost of the runs themselves, then the scores given afterwards, by scorer.
    """
    cells = _response_cells(tournament, votes)
    run_scorers = _run_scorers(tournament, cells)
    return [
        scorer for scorer in (*run_scorers, *_stored_scorers(tournament, cells)) if np.isfinite(scorer.scores).any()
    ]


def scores_in(tournament: Tournament) -> QuerySet[Score]:
    """Return the scores that were given afterwards to responses that meet in the tournament."""
    return Score.objects.filter(response__in=responses_in(tournament))


def responses_in(tournament: Tournament) -> QuerySet[Response]:
    """Return the responses that meet in the tournament."""
    met = Comparison.objects.filter(tournament=tournament, gold_pair=None)
    return Response.objects.filter(Q(pk__in=met.values("response_a")) | Q(pk__in=met.values("response_b")))


def _response_cells(tournament: Tournament, votes: Votes) -> _ResponseCells:
    prompts = {int(name): k for k, name in enumerate(votes.prompts)}
    number = {name: k for k, name in enumerate(votes.contestants)}
    # A contestant that was added after the votes were read is in none of them.
    order = {pk: number[name] for pk, name in tournament.contestants.values_list("pk", "name") if name in number}
    cells = {}
    met = tournament.comparisons.filter(gold_pair=None, prompt__place__in=prompts)
    for prompt_number, *sides in met.values_list("prompt__place", "a", "response_a", "b", "response_b"):
        for contestant, response in (sides[:2], sides[2:]):
            if response is not None and contestant in order:
                cells[response] = (prompts[prompt_number], order[contestant])
    return _ResponseCells(cells, (len(prompts), len(number)))


def _run_scorers(tournament: Tournament, cells: _ResponseCells) -> Iterator[Scorer]:
    rows = [row for row in responses_in(tournament).values_list("pk", "reward", "cost") if row[0] in cells.cells]
    reward = cells.table({pk: reward for pk, reward, _ in rows})
    cost = cells.table({pk: cost for pk, _, cost in rows if cost is not None})
    yield Scorer("reward", reward)
    yield Scorer("-cost", -cost)
    yield Scorer("reward - cost", reward - cost)


def _stored_scorers(tournament: Tournament, cells: _ResponseCells) -> Iterator[Scorer]:
    values_by_scorer: dict[tuple[str, str], dict[int, float]] = {}
    rows = scores_in(tournament).order_by("scorer", "key", "pk").values_list("scorer", "key", "response", "value")
    for scorer, key, response, value in rows:
        if response in cells.cells:
            values_by_scorer.setdefault((scorer, key), {})[response] = -value if key == COST else value
    for (scorer, key), values in values_by_scorer.items():
        yield Scorer(f"{scorer}: {'-' if key == COST else ''}{key}", cells.table(values))
