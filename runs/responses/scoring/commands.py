"""A scoring is asked for, cancelled and resumed. Jobs see to it: nobody waits here."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext

from runs.models import Response, Run, Scoring
from runs.responses.scoring.queries import counted
from runs.responses.scoring.scorers import choices


class CannotScore(ValueError):
    """Why there is nothing to score by this scorer now; `field` is what is wrong of scorer, step and split."""

    def __init__(self, words: str, field: str = "") -> None:
        super().__init__(words)
        self.field = field


def begin(run: Run, person: User, scorer: str, step: int | None = None, split: str = "") -> Scoring:
    """Has a run's answers scored, those that this scorer has not scored. Raises CannotScore."""
    _check(run, person, scorer, step, split)
    done, total = counted(run, scorer, step, split)
    if done == total:
        said = (
            gettext("%(scorer)s has scored all %(total)s answers of this.")
            if total
            else gettext("There is no answer to score.")
        )
        raise CannotScore(said % {"scorer": scorer, "total": total})
    return _going(Scoring(run=run, asked_by=person, scorer=scorer, step=step, split=split, done=done, total=total))


def cancel(scoring: Scoring) -> None:
    """Ends it after the answers that are being scored now. What is scored stays. Does nothing where it has ended."""
    going = Scoring.objects.filter(pk=scoring.pk, state=Scoring.State.GOING)
    going.update(state=Scoring.State.CANCELLED, ended_at=timezone.now(), reason="")


def resume(scoring: Scoring) -> Scoring:
    """Goes on with one that failed or was cancelled. Raises CannotScore."""
    scoring.refresh_from_db()
    if not scoring.can_resume:
        raise CannotScore(gettext("Only a scoring that failed or was cancelled can go on."))
    scoring.state, scoring.reason, scoring.ended_at, scoring.moved_at = Scoring.State.GOING, "", None, timezone.now()
    return _going(scoring)


def _going(scoring: Scoring) -> Scoring:
    try:
        with transaction.atomic():
            scoring.save()
    except IntegrityError:
        said = gettext("%(scorer)s is scoring this run already.")
        raise CannotScore(said % {"scorer": scoring.scorer}) from None
    return scoring


def _check(run: Run, person: User, scorer: str, step: int | None, split: str) -> None:
    offered = choices(person, run)
    if scorer not in offered:
        said = gettext("The scorer must be one of %(choices)s, not %(name)r.")
        names = ", ".join(offered) or gettext("those that are alive (there is none now)")
        raise CannotScore(said % {"choices": names, "name": scorer[:100]}, "scorer")
    answers = Response.objects.filter(run=run)
    for field, value in (("step", step), ("split", split)):
        if value in (None, ""):
            continue
        there = list(answers.order_by(field).values_list(field, flat=True).distinct())
        if value not in there:
            said = gettext("%(field)s must be one of %(choices)s, not %(value)r.")
            names = ", ".join(map(str, there[-20:])) or gettext("those of answers (there is none)")
            raise CannotScore(said % {"field": field, "choices": names, "value": value}, field)
