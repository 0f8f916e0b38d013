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

from judging.boards.settings import EVERYBODY, JUDGES, PEOPLE, USUAL, BoardSettings, VerdictFilter
from judging.judges import admitted, left_out
from judging.models import Comparison, Judge, Rubric, Side, Snapshot, Tournament, Verdict
from judging.stats.votes import Floats, Ints, Outcome, Votes, lengths_apart
from runs.models import Response

COLUMNS = (
    "comparison__a", "comparison__b", "outcome", "comparison__prompt", "voter", "judge", "first",
    "score_a", "score_b", "comparison__response_a", "comparison__response_b", "length_a", "length_b",
)  # fmt: skip
IDENTITY = "identical answers"
"""Name in place of an annotator's for ties of identical responses, which nobody judged."""


def categories(tournament: Tournament) -> dict[str, int]:
    """Map each category to the number of prompts that have it, the most first. Categories overlap."""
    named = tournament.chosen_prompts.order_by().annotate(name=Func(F("categories"), function="unnest"))
    counted = named.values("name").annotate(prompts=Count("pk")).order_by("-prompts", "name")
    return dict(counted.values_list("name", "prompts"))


def votes_in_categories(tournament: Tournament, rubric: Rubric) -> dict[str, int]:
    """Map each category to its votes in the newest board with default settings; return {} if there is no such board."""
    kept = Snapshot.objects.filter(tournament=tournament, rubric=rubric, asked=USUAL.to_json()).order_by("-at", "-pk")
    found = kept.values_list("board__categories", flat=True).first()
    if not found:
        return {}
    return {one["category"]: one["votes"] for one in found["shown"]} | {
        name: votes for name, _, votes in found["others"]
    }


OUTCOMES = {outcome.name.lower(): outcome for outcome in Outcome}
BY_SCORES = (Outcome.A, Outcome.B, Outcome.TIE)
"""Outcomes that two scores can have."""
FIRST = {Side.A.value: 1, Side.B.value: -1, "": 0}


def verdicts_in(tournament: Tournament, rubric: Rubric, *, whose: VerdictFilter = EVERYBODY) -> QuerySet[Verdict]:
    """Return the verdicts that rate contestants: current ones that are admitted to boards.

    A model judge's repeated verdicts on the same question are left out: they measure the judge's consistency.
    """
    current = Verdict.objects.rating().filter(comparison__tournament=tournament, rubric=rubric)
    return admitted(whose.among(current).exclude(judge__kind=Judge.Kind.OPENAI, sample__gt=0))


def votes_in(
    tournament: Tournament,
    rubric: Rubric,
    *,
    whose: VerdictFilter = EVERYBODY,
    tie_threshold: float | None = None,
    identical_as_ties: bool = False,
) -> Votes:
    """Return the verdicts as arrays of votes, in the order in which they were given.

    Contestants are all contestants of the tournament, in alphabetical order. Prompts, annotators and categories are
    numbered in order of appearance, as in a file: a file of the same votes gives the same board. A voter's name is
    "person 3", by their number in the tournament. `length` is how much longer a's response is, in words or as a file
    gives it, NaN if neither is known. tie_threshold applies to verdicts with scores, as in `judging.stats.votes`.
    identical_as_ties: add a tie for each pair of identical responses at the end, by the annotator IDENTITY and without
    a first position.
    """
    contestants = dict(sorted(tournament.contestants.values_list("pk", "name"), key=lambda one: one[1]))
    rows = list(verdicts_in(tournament, rubric, whose=whose).order_by("pk").values_list(*COLUMNS))
    rows += _ties_by_identity(tournament) if identical_as_ties else []
    a, b, outcome, asked, voter, judge, first, *rest = zip(*rows, strict=True) if rows else [()] * len(COLUMNS)
    scores, answers_and_lengths = rest[:2], rest[2:]
    place = {pk: number for number, pk in enumerate(contestants)}
    prompts, prompt = _numbered(asked)
    asked_on = tournament.chosen_prompts.values_list("pk", "place", "categories")
    chosen: dict[int, list[Any]] = {pk: rest for pk, *rest in asked_on}
    kinds, kind = _numbered(tuple(chosen[pk][1]) for pk in asked)
    speakers, annotator = _numbered(zip(voter, judge, strict=True))
    return Votes(
        tuple(contestants.values()), _mapped(place, a), _mapped(place, b),
        _scored(_mapped(OUTCOMES, outcome), scores, tie_threshold),
        tuple(str(chosen[pk][0]) for pk in prompts), prompt, _names(tournament, speakers), annotator,
        _mapped(FIRST, first), np.ones(len(rows)), tuple(kinds) or ((),), kind,
        {"length": _length(tournament, *answers_and_lengths)},
    )  # fmt: skip


def _ties_by_identity(tournament: Tournament) -> list[tuple[Any, ...]]:
    """Return a row of COLUMNS for each pair of identical responses."""
    met = tournament.comparisons.between_contestants().filter(is_identical=True).order_by("place")
    return [
        (a, b, Outcome.TIE.name.lower(), prompt, None, None, "", None, None, response_a, response_b, None, None)
        for a, b, prompt, response_a, response_b in met.values_list("a", "b", "prompt", "response_a", "response_b")
    ]


def _scored(outcome: Ints, scores: Sequence[Sequence[float | None]], threshold: float | None) -> Ints:
    """Return the outcomes, decided by the scores again if there is a threshold.

    Scores that differ by no more than the threshold are a tie. A verdict's outcome stays if a score is missing or the
    outcome is not one of BY_SCORES.
    """
    if threshold is None:
        return outcome
    a, b = np.array(scores, np.float64)
    says = np.isfinite(a) & np.isfinite(b) & np.isin(outcome, BY_SCORES)
    decided = np.where(a > b, Outcome.A, Outcome.B)
    return np.where(says, np.where(abs(a - b) <= threshold, Outcome.TIE, decided), outcome)


def _numbered(said: Iterable[Any]) -> tuple[list[Any], Ints]:
    """Return the distinct values in order of first appearance, and the number of each value: int64[n]."""
    said = list(said)
    numbers = {one: k for k, one in enumerate(dict.fromkeys(said))}
    return list(numbers), _mapped(numbers, said)


def _mapped(numbers: Mapping[Any, int], said: Iterable[Any]) -> Ints:
    return np.array([numbers[one] for one in said], np.int64)


def _names(tournament: Tournament, speakers: Iterable[tuple[int | None, int | None]]) -> tuple[str, ...]:
    """Return the names of (voter, judge), one of which is None; both are for IDENTITY.

    Judges of one name, or of a person's, are numbered.
    """
    speakers = list(speakers)
    person = {pk: f"person {number + 1}" for pk, number in tournament.voters.values_list("pk", "number")}
    called = dict(Judge.objects.filter(pk__in=[judge for _, judge in speakers if judge]).values_list("pk", "name"))
    names = Counter([*called.values(), *person.values(), IDENTITY])
    said: dict[int | None, str] = {pk: name if names[name] == 1 else f"{name} ({pk})" for pk, name in called.items()}
    said[None] = IDENTITY
    return tuple(said[judge] if voter is None else person[voter] for voter, judge in speakers)


def _length(
    tournament: Tournament,
    answer_a: Sequence[int | None],
    answer_b: Sequence[int | None],
    said_a: Sequence[float | None],
    said_b: Sequence[float | None],
) -> Floats:
    met = Comparison.objects.filter(tournament=tournament, gold_pair=None)
    theirs = Q(pk__in=met.values("response_a")) | Q(pk__in=met.values("response_b"))
    rows = Response.objects.filter(theirs, words__isnull=False).values_list("pk", "words")
    words: dict[int | None, int | None] = {pk: count for pk, count in rows}  # noqa: C416  (None may be asked for)
    pairs = np.array([[words.get(one, np.nan) for one in answers] for answers in (answer_a, answer_b)], np.float64)
    said = np.array([said_a, said_b], np.float64)
    known = np.isfinite(said).all(axis=0)
    return lengths_apart(np.where(known, said, pairs).reshape(2, -1).T)


KINDS = {
    Judge.Kind.OPENAI.value: _("a model, held against people's verdicts"),
    Judge.Kind.RULES.value: _("rules, no model and no person: they see an answer's form, not whether it is right"),
    Judge.Kind.IMPORTED.value: _("imported, not calibrated here"),
}


@dataclass(frozen=True)
class Speaker:
    """Rater of a board: a judge, or all voters together if `judge` is None.

    people: the number of voters. why: the reason why its verdicts are left out of the board, empty if they count.
    """

    judge: Judge | None
    verdicts: int
    people: int = 0
    why: str = ""

    @property
    def what(self) -> str:
        """Return the description of the judge's kind, or an empty text for voters."""
        return "" if self.judge is None else gettext(KINDS[self.judge.kind])

    @property
    def whose(self) -> VerdictFilter:
        """Return the filter that selects this rater's verdicts alone."""
        return VerdictFilter(PEOPLE) if self.judge is None else VerdictFilter(JUDGES, self.judge.pk)

    def to_json(self) -> dict[str, Any]:
        """Return the rater in the form that files contain."""
        name, kind = (None, "people") if self.judge is None else (self.judge.name, self.judge.kind)
        return {"name": name, "kind": kind, "people": self.people, "verdicts": self.verdicts, "left_out": self.why}


def speakers(tournament: Tournament, rubric: Rubric, asked: BoardSettings) -> list[Speaker]:
    """Return the raters that the settings select: all voters as one, and each judge.

    Raters with the most verdicts come first; raters that the board leaves out come last.
    """
    let_in = verdicts_in(tournament, rubric, whose=asked.whose).order_by().values_list("judge")
    by = let_in.annotate(Count("pk"), Count("voter", distinct=True))
    counted = {pk: Speaker(None, verdicts, people) for pk, verdicts, people in by}
    given = Verdict.objects.rating().filter(comparison__tournament=tournament, rubric=rubric, judge__isnull=False)
    said = dict(asked.whose.among(given).order_by().values_list("judge").annotate(Count("pk")))
    judges = Judge.objects.in_bulk(said)
    found = [counted[None]] if None in counted else []
    found += [Speaker(judges[pk], one.verdicts) for pk, one in counted.items() if pk is not None]
    others = {pk: count for pk, count in said.items() if pk not in counted}
    why = left_out([judges[pk] for pk in others], [rubric], tournament)
    out = [Speaker(judges[pk], count, why=why.get((pk, rubric.pk), "")) for pk, count in others.items()]
    return sorted(found, key=_place) + sorted(out, key=_place)


def _place(one: Speaker) -> tuple[int, str, int]:
    """Return a sort key: most verdicts first, then the name and id, so that pages of the list do not overlap."""
    return (-one.verdicts, *(("", 0) if one.judge is None else (one.judge.name, one.judge.pk)))
