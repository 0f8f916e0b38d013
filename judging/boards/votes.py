"""Turn the verdicts of a tournament into votes, and list the raters that a board counts or leaves out, with reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import Count, F, Func, Q, QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from judging.boards.settings import ALL_VERDICTS, DEFAULT_SETTINGS, JUDGES, PEOPLE, BoardSettings, VerdictFilter
from judging.judges import admitted_verdicts, exclusion_reasons
from judging.models import Comparison, Judge, Rubric, Side, Snapshot, Tournament, Verdict
from judging.stats.votes import Floats, Ints, Outcome, Votes, relative_length_difference
from runs.models import Response

COLUMNS = (
    "comparison__a", "comparison__b", "outcome", "comparison__prompt", "voter", "judge", "first",
    "score_a", "score_b", "comparison__response_a", "comparison__response_b", "length_a", "length_b", "preference",
)  # fmt: skip
IDENTITY = "identical answers"
"""Name in place of an annotator's for ties of identical responses, which nobody judged."""


def categories(tournament: Tournament) -> dict[str, int]:
    """Map each category to the number of prompts that have it, the most first. Categories overlap."""
    named = tournament.chosen_prompts.order_by().annotate(name=Func(F("categories"), function="unnest"))
    counted = named.values("name").annotate(prompts=Count("pk")).order_by("-prompts", "name")
    return dict(counted.values_list("name", "prompts"))


def parse_settings(tournament: Tournament, params: Mapping[str, Any]) -> BoardSettings:
    """Return the settings of a board of this tournament. Raise ValueError, with the choices, if one is invalid."""
    names = dict.fromkeys(tournament.contestants.order_by("place").values_list("name", flat=True))
    return BoardSettings.parse(params, names, categories(tournament) if params.get("category") else None)


def votes_in_categories(tournament: Tournament, rubric: Rubric) -> dict[str, int]:
    """Map each category to its votes in the newest board with default settings; return {} if there is no such board."""
    snapshots = Snapshot.objects.filter(
        tournament=tournament, rubric=rubric, asked=DEFAULT_SETTINGS.to_json()
    ).order_by("-at", "-pk")
    by_category = snapshots.values_list("board__categories", flat=True).first()
    if not by_category:
        return {}
    return {category["category"]: category["votes"] for category in by_category["shown"]} | {
        name: votes for name, _, votes in by_category["others"]
    }


OUTCOMES = {outcome.name.lower(): outcome for outcome in Outcome}
BY_SCORES = (Outcome.A, Outcome.B, Outcome.TIE)
"""Outcomes that two scores can have."""
FIRST = {Side.A.value: 1, Side.B.value: -1, "": 0}


def verdicts_in(
    tournament: Tournament, rubric: Rubric, *, verdict_filter: VerdictFilter = ALL_VERDICTS
) -> QuerySet[Verdict]:
    """Return the verdicts that rate contestants: current ones that are admitted to boards.

    A model judge's repeated verdicts on the same question are left out: they measure the judge's consistency.
    """
    current = Verdict.objects.rating().filter(comparison__tournament=tournament, rubric=rubric)
    return admitted_verdicts(verdict_filter.apply(current).exclude(judge__kind=Judge.Kind.OPENAI, sample__gt=0))


def votes_in(
    tournament: Tournament,
    rubric: Rubric,
    *,
    verdict_filter: VerdictFilter = ALL_VERDICTS,
    tie_threshold: float | None = None,
    identical_as_ties: bool = False,
) -> Votes:
    """Return the verdicts as arrays of votes, in the order in which they were given.

    Contestants are all contestants of the tournament, in alphabetical order. Prompts, annotators and categories are
    numbered in order of appearance, as in a file: a file of the same votes gives the same board. A voter's name is
    "person 3", by the voter's number in the tournament. `length` is how much longer a's response is, in words or as a
    file gives it, NaN if neither is known. tie_threshold applies to verdicts with scores, as in `judging.stats.votes`;
    such verdicts are then no soft preferences.
    identical_as_ties: add a tie for each pair of identical responses at the end, by the annotator IDENTITY and without
    a first position.
    """
    contestants = dict(sorted(tournament.contestants.values_list("pk", "name"), key=lambda row: row[1]))
    rows = list(verdicts_in(tournament, rubric, verdict_filter=verdict_filter).order_by("pk").values_list(*COLUMNS))
    rows += _ties_by_identity(tournament) if identical_as_ties else []
    a, b, outcome, prompt_ids, voter, judge, first, *rest = zip(*rows, strict=True) if rows else [()] * len(COLUMNS)
    scores, answers_and_lengths, preference = rest[:2], rest[2:6], _floats(rest[6])
    outcomes = _outcomes_by_scores(_map_values(OUTCOMES, outcome), scores, tie_threshold)
    if tie_threshold is not None:
        preference[np.isfinite(_floats(scores[0]))] = np.nan
    number_of = {pk: number for number, pk in enumerate(contestants)}
    prompts, prompt = _number_values(prompt_ids)
    prompt_fields = tournament.chosen_prompts.values_list("pk", "place", "categories")
    prompt_by_id: dict[int, list[Any]] = {pk: rest for pk, *rest in prompt_fields}
    kinds, kind = _number_values(tuple(prompt_by_id[pk][1]) for pk in prompt_ids)
    raters, annotator = _number_values(zip(voter, judge, strict=True))
    return Votes(
        tuple(contestants.values()), _map_values(number_of, a), _map_values(number_of, b),
        outcomes,
        tuple(str(prompt_by_id[pk][0]) for pk in prompts), prompt, _names(tournament, raters), annotator,
        _map_values(FIRST, first), np.ones(len(rows)), tuple(kinds) or ((),), kind,
        {"length": _length(tournament, *answers_and_lengths)}, preference,
    )  # fmt: skip


def _ties_by_identity(tournament: Tournament) -> list[tuple[Any, ...]]:
    """Return a row of COLUMNS for each pair of identical responses."""
    met = tournament.comparisons.between_contestants().filter(is_identical=True).order_by("place")
    return [
        (a, b, Outcome.TIE.name.lower(), prompt, None, None, "", None, None, response_a, response_b, None, None, None)
        for a, b, prompt, response_a, response_b in met.values_list("a", "b", "prompt", "response_a", "response_b")
    ]


def _outcomes_by_scores(outcome: Ints, scores: Sequence[Sequence[float | None]], threshold: float | None) -> Ints:
    """Return the outcomes, decided by the scores again if there is a threshold.

    Scores that differ by no more than the threshold are a tie. A verdict's outcome stays if a score is missing or the
    outcome is not one of BY_SCORES.
    """
    if threshold is None:
        return outcome
    a, b = np.array(scores, np.float64)
    has_scores = np.isfinite(a) & np.isfinite(b) & np.isin(outcome, BY_SCORES)
    decided = np.where(a > b, Outcome.A, Outcome.B)
    return np.where(has_scores, np.where(abs(a - b) <= threshold, Outcome.TIE, decided), outcome)


def _floats(values: Iterable[float | None]) -> Floats:
    """Return the values, NaN for None. float64[n]."""
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _number_values(values: Iterable[Any]) -> tuple[list[Any], Ints]:
    """Return the distinct values in order of first appearance, and the number of each value: int64[n]."""
    values = list(values)
    numbers = {value: k for k, value in enumerate(dict.fromkeys(values))}
    return list(numbers), _map_values(numbers, values)


def _map_values(numbers: Mapping[Any, int], values: Iterable[Any]) -> Ints:
    return np.array([numbers[value] for value in values], np.int64)


def _names(tournament: Tournament, raters: Iterable[tuple[int | None, int | None]]) -> tuple[str, ...]:
    """Return the names of (voter, judge), one of which is None; both are for IDENTITY.

    Judges with equal names, or with a voter's name, get a number.
    """
    raters = list(raters)
    voter_names = {pk: f"person {number + 1}" for pk, number in tournament.voters.values_list("pk", "number")}
    judge_names = dict(Judge.objects.filter(pk__in=[judge for _, judge in raters if judge]).values_list("pk", "name"))
    names = Counter([*judge_names.values(), *voter_names.values(), IDENTITY])
    rater_names: dict[int | None, str] = {
        pk: name if names[name] == 1 else f"{name} ({pk})" for pk, name in judge_names.items()
    }
    rater_names[None] = IDENTITY
    return tuple(rater_names[judge] if voter is None else voter_names[voter] for voter, judge in raters)


def _length(
    tournament: Tournament,
    answer_a: Sequence[int | None],
    answer_b: Sequence[int | None],
    length_a: Sequence[float | None],
    length_b: Sequence[float | None],
) -> Floats:
    met = Comparison.objects.filter(tournament=tournament, gold_pair=None)
    has_response = Q(pk__in=met.values("response_a")) | Q(pk__in=met.values("response_b"))
    rows = Response.objects.filter(has_response, words__isnull=False).values_list("pk", "words")
    words: dict[int | None, int | None] = {pk: count for pk, count in rows}  # noqa: C416  (None may be asked for)
    pairs = np.array(
        [[words.get(response, np.nan) for response in answers] for answers in (answer_a, answer_b)], np.float64
    )
    given = np.array([length_a, length_b], np.float64)
    is_given = np.isfinite(given).all(axis=0)
    return relative_length_difference(np.where(is_given, given, pairs).reshape(2, -1).T)


KIND_LABELS = {
    Judge.Kind.OPENAI.value: _("a model, calibrated against human verdicts"),
    Judge.Kind.RULES.value: _("rules, not a model or a human: they judge a response's form, not whether it is right"),
    Judge.Kind.IMPORTED.value: _("imported, not calibrated here"),
}


@dataclass(frozen=True)
class Rater:
    """Rater of a board: a judge, or all voters together if `judge` is None.

    voters: the number of voters. reason: why the rater's verdicts are left out of the board, empty if they count.
    """

    judge: Judge | None
    verdicts: int
    voters: int = 0
    reason: str = ""

    @property
    def kind_label(self) -> str:
        """Return the description of the judge's kind, or an empty text for voters."""
        return "" if self.judge is None else gettext(KIND_LABELS[self.judge.kind])

    @property
    def verdict_filter(self) -> VerdictFilter:
        """Return the filter that selects this rater's verdicts alone."""
        return VerdictFilter(PEOPLE) if self.judge is None else VerdictFilter(JUDGES, self.judge.pk)

    def to_json(self) -> dict[str, Any]:
        """Return the rater in the form that files contain."""
        name, kind = (None, "people") if self.judge is None else (self.judge.name, self.judge.kind)
        return {"name": name, "kind": kind, "people": self.voters, "verdicts": self.verdicts, "left_out": self.reason}


def list_raters(tournament: Tournament, rubric: Rubric, settings: BoardSettings) -> list[Rater]:
    """Return the raters that the settings select: all voters as one, and each judge.

    Raters with the most verdicts come first; raters that the board leaves out come last.
    """
    counted_verdicts = verdicts_in(tournament, rubric, verdict_filter=settings.whose).order_by().values_list("judge")
    by = counted_verdicts.annotate(Count("pk"), Count("voter", distinct=True))
    counted = {pk: Rater(None, verdicts, people) for pk, verdicts, people in by}
    all_verdicts = Verdict.objects.rating().filter(
        comparison__tournament=tournament, rubric=rubric, judge__isnull=False
    )
    verdicts_by_judge = dict(settings.whose.apply(all_verdicts).order_by().values_list("judge").annotate(Count("pk")))
    judges = Judge.objects.in_bulk(verdicts_by_judge)
    counted_raters = [counted[None]] if None in counted else []
    counted_raters += [Rater(judges[pk], rater.verdicts) for pk, rater in counted.items() if pk is not None]
    others = {pk: count for pk, count in verdicts_by_judge.items() if pk not in counted}
    reasons = exclusion_reasons([judges[pk] for pk in others], [rubric], tournament)
    left_out_raters = [
        Rater(judges[pk], count, reason=reasons.get((pk, rubric.pk), "")) for pk, count in others.items()
    ]
    return sorted(counted_raters, key=_sort_key) + sorted(left_out_raters, key=_sort_key)


def _sort_key(rater: Rater) -> tuple[int, str, int]:
    """Return a sort key: most verdicts first, then the name and id, so that pages of the list do not overlap."""
    return (-rater.verdicts, *(("", 0) if rater.judge is None else (rater.judge.name, rater.judge.pk)))
