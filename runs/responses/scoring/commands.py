"""Commands that begin, cancel and resume a scoring. A job does the scoring, so no caller waits."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext

from runs.models import Response, Run, Scoring
from runs.responses.scoring.queries import count_scored
from runs.responses.scoring.scorers import choices


class CannotScore(ValueError):
    """Refusal to score, with the reason; `field` is the invalid one of scorer, step and split, else empty."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


def begin(run: Run, person: User, scorer: str, step: int | None = None, split: str = "") -> Scoring:
    """Begin the scoring of a run's responses that this scorer has not scored. Raise CannotScore."""
    _check(run, person, scorer, step, split)
    done, total = count_scored(run, scorer, step, split)
    if done == total:
        message = (
            gettext("%(scorer)s has already scored all %(total)s responses.")
            if total
            else gettext("There are no responses to score.")
        )
        raise CannotScore(message % {"scorer": scorer, "total": total})
    return _save_active(
        Scoring(run=run, asked_by=person, scorer=scorer, step=step, split=split, done=done, total=total)
    )


def cancel(scoring: Scoring) -> None:
    """Cancel a scoring after its current batch. Stored scores stay. Do nothing if it has finished."""
    active = Scoring.objects.filter(pk=scoring.pk, state=Scoring.State.GOING)
    active.update(state=Scoring.State.CANCELLED, ended_at=timezone.now(), reason="")


def resume(scoring: Scoring) -> Scoring:
    """Resume a scoring that failed or was cancelled. Raise CannotScore for any other."""
    scoring.refresh_from_db()
    if not scoring.can_resume:
        raise CannotScore(gettext("Only a failed or cancelled scoring can be resumed."))
    scoring.state, scoring.reason, scoring.ended_at, scoring.moved_at = Scoring.State.GOING, "", None, timezone.now()
    return _save_active(scoring)


def _save_active(scoring: Scoring) -> Scoring:
    try:
        with transaction.atomic():
            scoring.save()
    except IntegrityError:
        message = gettext("%(scorer)s is already scoring this run.")
        raise CannotScore(message % {"scorer": scoring.scorer}) from None
    return scoring


def _check(run: Run, person: User, scorer: str, step: int | None, split: str) -> None:
    offered = choices(person, run)
    if scorer not in offered:
        message = gettext("The scorer must be one of %(choices)s, not %(name)r.")
        names = ", ".join(offered) or gettext("available scorers (none now)")
        raise CannotScore(message % {"choices": names, "name": scorer[:100]}, "scorer")
    answers = Response.objects.filter(run=run)
    for field, value in (("step", step), ("split", split)):
        if value in (None, ""):
            continue
        values = list(answers.order_by(field).values_list(field, flat=True).distinct())
        if value not in values:
            message = gettext("%(field)s must be one of %(choices)s, not %(value)r.")
            names = ", ".join(map(str, values[-20:])) or gettext("the values of the responses (none)")
            raise CannotScore(message % {"field": field, "choices": names, "value": value}, field)
