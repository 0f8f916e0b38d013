"""Start judges on tournaments and on gold, and stop them. The caller checks permissions."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from judging.judge_runs.completion import read_stored_replies
from judging.judge_runs.leases import release_lapsed
from judging.judge_runs.questions import count_planned
from judging.judge_runs.rate_limits import JudgeRateLimiter
from judging.models import Assignment, Call, Judge, Rubric

STATE = Assignment.State
MAX_SAMPLES = 20
RETRIED_STATES = (Call.State.FAILED, Call.State.UNPARSED, Call.State.REFUSED)


class CannotAsk(ValueError):
    """Error for an assignment that makes no sense, or a change that is not possible now. The message gives the
    reason."""


def start(assignment: Assignment, rubrics: Sequence[Rubric]) -> Assignment:
    """Save a new assignment, which then runs; `judge_runs.work` asks its questions. Raise CannotAsk if it makes no
    sense."""
    _check(assignment, rubrics)
    with transaction.atomic():
        # Lock the judge, so that a repeated click does not pay twice.
        Judge.objects.select_for_update(no_key=True).get(pk=assignment.judge.pk)
        scope = {name: getattr(assignment, name) for name in ("judge", "tournament", "gold_set")}
        if Assignment.objects.filter(**scope, state__in=(STATE.RUNNING, STATE.PAUSED, STATE.HALTED)).exists():
            raise CannotAsk(
                gettext("This judge already has an unfinished assignment there: resume or cancel it first.")
            )
        assignment.save(force_insert=True)
        assignment.rubrics.set(rubrics)
        assignment.planned = count_planned(assignment)
        assignment.save(update_fields=["planned"])
        if assignment.planned == 0:
            raise CannotAsk(
                gettext("There is nothing to ask: no pair has two different responses, or none has these criteria.")
            )
    JudgeRateLimiter(assignment.judge).reset()
    return assignment


def pause(assignment: Assignment) -> None:
    """Make no more calls until the assignment resumes; replies under way are still stored. Raise CannotAsk."""
    _transition(assignment, (STATE.RUNNING,), STATE.PAUSED)


def cancel(assignment: Assignment) -> None:
    """End the assignment for good; its verdicts stay. Raise CannotAsk."""
    _transition(assignment, (STATE.RUNNING, STATE.PAUSED, STATE.HALTED), STATE.CANCELLED)
    Assignment.objects.filter(pk=assignment.pk).update(ended_at=timezone.now())


def resume(assignment: Assignment, cap: Decimal | None = None, *, again: bool = False) -> None:
    """Resume the assignment, with another cap if one is given. `again` repeats questions that failed, were refused or
    unparsed; stored replies that are understood by now need no repetition.

    Raise CannotAsk if the assignment is running.
    """
    with transaction.atomic():
        if cap is not None:
            Assignment.objects.filter(pk=assignment.pk).update(cap=cap)
        _transition(assignment, tuple(set(STATE) - {STATE.RUNNING}), STATE.RUNNING)
        Assignment.objects.filter(pk=assignment.pk).update(ended_at=None)
        if again:
            calls = Call.objects.filter(pk__in=assignment.questions.values("call"))
            read_stored_replies(calls)
            calls.filter(state__in=RETRIED_STATES).update(
                state=Call.State.PENDING, tries=0, not_before=None, ended_at=None
            )
    release_lapsed(assignment)
    JudgeRateLimiter(assignment.judge).reset()


def _transition(assignment: Assignment, before: Sequence[str], to: str) -> None:
    moved = Assignment.objects.filter(pk=assignment.pk, state__in=before).update(state=to, reason="")
    if not moved:
        state = Assignment.objects.values_list("state", flat=True).get(pk=assignment.pk)
        message = gettext("The assignment is %(state)s. Only an assignment that is %(choices)s can become %(to)s.")
        raise CannotAsk(message % {"state": state, "choices": " or ".join(sorted(before)), "to": to})
    assignment.state = to


def _check(assignment: Assignment, rubrics: Sequence[Rubric]) -> None:
    judge = assignment.judge
    if (assignment.tournament is None) == (assignment.gold_set is None):
        raise CannotAsk(gettext("Name either a tournament or a gold set."))
    if not rubrics:
        raise CannotAsk(gettext("Choose at least one criterion."))
    if judge.kind == Judge.Kind.RULES:
        raise CannotAsk(gettext("The judge by rules has no assignments: it judges immediately."))
    if judge.kind == Judge.Kind.IMPORTED:
        message = gettext("%(judge)s comes from an imported file and cannot be asked here.")
        raise CannotAsk(message % {"judge": judge})
    if judge.retired_at is not None:
        raise CannotAsk(gettext("%(judge)s has retired: choose a current judge.") % {"judge": judge})
    if not 1 <= assignment.samples <= MAX_SAMPLES:
        raise CannotAsk(gettext("Each question can be asked 1 to %(most)s times.") % {"most": MAX_SAMPLES})
