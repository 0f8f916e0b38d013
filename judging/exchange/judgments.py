"""A tournament's verdicts -> judgments, as the formats of files have them: who stood first is a."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from judging.boards import verdicts_in
from judging.models import Rubric, Side, Tournament, Verdict
from judging.stats.votes import TIE_THRESHOLD, Judgment, Outcome, of_scores
from judging.tournaments import Speakers, called

READ_AT_ONCE = 2000
OUTCOMES = {outcome.name.lower(): outcome for outcome in Outcome}
TURNED = {Outcome.A: Outcome.B, Outcome.B: Outcome.A}
COLUMNS = (
    "outcome", "first", "voter", "judge", "comparison__a__name", "comparison__b__name", "comparison__prompt",
    "score_a", "score_b", "length_a", "length_b", "comparison__response_a__words", "comparison__response_b__words",
    "sample",
)  # fmt: skip


def rated_in(tournament: Tournament, rubric: Rubric, *, every: bool) -> QuerySet[Verdict]:
    """The verdicts that make its board; or `every` one that compares two, whoever gave it."""
    if every:
        return Verdict.objects.comparing().filter(comparison__tournament=tournament, rubric=rubric)
    return verdicts_in(tournament, rubric)


def judgments(
    tournament: Tournament, rubric: Rubric, criterion: str, who: Speakers, *, every: bool = False
) -> Iterator[Judgment]:
    """Those by one rubric, in the order in which they were given, a few at a time.

    The first names contestants whom nobody judged: a board has them too.
    """
    prompts = {
        one.pk: (name, tuple(one.categories))
        for chosen in [list(tournament.chosen_prompts.select_related("prompt"))]
        for one, name in zip(chosen, called(chosen).values(), strict=True)
    }
    found = rated_in(tournament, rubric, every=every)
    also = _unmet(tournament, found)
    for row in found.order_by("pk").values_list(*COLUMNS).iterator(READ_AT_ONCE):
        yield _judgment(row, criterion, prompts[row[6]], who, also)
        also = ()


def _judgment(
    row: tuple[Any, ...], criterion: str, prompt: tuple[str, tuple[str, ...]], who: Speakers, also: tuple[str, ...]
) -> Judgment:
    outcome, first, voter, judge, a, b = row[:6]
    is_turned = first == Side.B
    outcome = TURNED.get(OUTCOMES[outcome], OUTCOMES[outcome]) if is_turned else OUTCOMES[outcome]
    scores = _pair(row[7:9], is_turned)
    return Judgment(
        b if is_turned else a, a if is_turned else b, criterion, prompt[0], who.name(voter, judge), scores,
        verdict=None if outcome == _said_by(scores) else outcome, order_known=bool(first), categories=prompt[1],
        lengths=_pair(row[9:11], is_turned) or _pair(row[11:13], is_turned), is_person=judge is None, also=also,
        sample=row[13],
    )  # fmt: skip


def _said_by(scores: tuple[float, float] | None) -> Outcome:
    """The outcome that need not be said, because scores, or their lack, say it."""
    return of_scores(*scores, TIE_THRESHOLD) if scores else Outcome.UNPARSED


def _pair(values: tuple[float | None, ...], is_turned: bool) -> tuple[float, float] | None:
    a, b = values
    if a is None or b is None:
        return None
    return (float(b), float(a)) if is_turned else (float(a), float(b))


def _unmet(tournament: Tournament, found: QuerySet[Verdict]) -> tuple[str, ...]:
    """Contestants of whom no verdict is."""
    ids = {pk for pair in found.order_by().values_list("comparison__a", "comparison__b").distinct() for pk in pair}
    return tuple(tournament.contestants.exclude(pk__in=ids).order_by("name").values_list("name", flat=True))
