"""Turn a tournament's verdicts into judgments as in files, where a is the response in first position."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from judging.boards import verdicts_in
from judging.models import Rubric, Side, Tournament, Verdict
from judging.stats.votes import TIE_THRESHOLD, Judgment, Outcome, outcome_of_scores, preference_of_scores
from judging.tournaments import RaterNames, get_prompt_names

READ_BATCH_SIZE = 2000
OUTCOMES = {outcome.name.lower(): outcome for outcome in Outcome}
SWAPPED_OUTCOMES = {Outcome.A: Outcome.B, Outcome.B: Outcome.A}
COLUMNS = (
    "outcome", "first", "voter", "judge", "comparison__a__name", "comparison__b__name", "comparison__prompt",
    "score_a", "score_b", "length_a", "length_b", "comparison__response_a__words", "comparison__response_b__words",
    "sample", "preference",
)  # fmt: skip


def select_verdicts(tournament: Tournament, rubric: Rubric, *, every: bool) -> QuerySet[Verdict]:
    """Return the verdicts that the board counts; with `every`, all that compare two contestants, by any rater."""
    if every:
        return Verdict.objects.comparing().filter(comparison__tournament=tournament, rubric=rubric)
    return verdicts_in(tournament, rubric)


def build_judgments(
    tournament: Tournament, rubric: Rubric, criterion: str, rater_names: RaterNames, *, every: bool = False
) -> Iterator[Judgment]:
    """Yield the judgments by one rubric, in the order in which they were given, read from the database in batches.

    The first one lists contestants that nobody judged, because a board has them too.
    """
    prompts = {
        prompt.pk: (name, tuple(prompt.categories))
        for chosen_prompts in [list(tournament.chosen_prompts.select_related("prompt"))]
        for prompt, name in zip(chosen_prompts, get_prompt_names(chosen_prompts).values(), strict=True)
    }
    verdicts = select_verdicts(tournament, rubric, every=every)
    unmet_contestants = _unmet_contestants(tournament, verdicts)
    for row in verdicts.order_by("pk").values_list(*COLUMNS).iterator(READ_BATCH_SIZE):
        yield _judgment(row, criterion, prompts[row[6]], rater_names, unmet_contestants)
        unmet_contestants = ()


def _judgment(
    row: tuple[Any, ...],
    criterion: str,
    prompt: tuple[str, tuple[str, ...]],
    rater_names: RaterNames,
    unmet_contestants: tuple[str, ...],
) -> Judgment:
    outcome, first, voter, judge, a, b = row[:6]
    is_turned = first == Side.B
    outcome = SWAPPED_OUTCOMES.get(OUTCOMES[outcome], OUTCOMES[outcome]) if is_turned else OUTCOMES[outcome]
    scores, preference = _pair(row[7:9], is_turned), row[14]
    if preference is not None and is_turned:
        preference = 1 - preference
    return Judgment(
        b if is_turned else a, a if is_turned else b, criterion, prompt[0], rater_names.name(voter, judge), scores,
        verdict=None if _is_implied(outcome, preference, scores) else outcome, order_known=bool(first),
        categories=prompt[1],
        lengths=_pair(row[9:11], is_turned) or _pair(row[11:13], is_turned), is_person=judge is None,
        other_contestants=unmet_contestants, sample=row[13], preference=preference,
    )  # fmt: skip


def _is_implied(outcome: Outcome, preference: float | None, scores: tuple[float, float] | None) -> bool:
    """Return whether the scores, or their absence, say the outcome, so that it needs no explicit verdict."""
    if scores is None or preference is not None:
        return outcome == Outcome.UNPARSED
    # Scores that are probabilities would be read as a soft preference.
    return outcome == outcome_of_scores(*scores, TIE_THRESHOLD) and preference_of_scores(*scores) is None


def _pair(values: tuple[float | None, ...], is_turned: bool) -> tuple[float, float] | None:
    a, b = values
    if a is None or b is None:
        return None
    return (float(b), float(a)) if is_turned else (float(a), float(b))


def _unmet_contestants(tournament: Tournament, verdicts: QuerySet[Verdict]) -> tuple[str, ...]:
    """Return the names of contestants without a verdict."""
    ids = {pk for pair in verdicts.order_by().values_list("comparison__a", "comparison__b").distinct() for pk in pair}
    return tuple(tournament.contestants.exclude(pk__in=ids).order_by("name").values_list("name", flat=True))
