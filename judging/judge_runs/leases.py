"""Takes the next call of an assignment, with all that it may cost set aside first: the cap holds whatever is answered.

A lease that runs out, because whoever held it was killed, is paid for in full: nobody knows whether it was answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_noop as _

from judging.judge_runs.rate_limits import Limits
from judging.judge_runs.results import tell
from judging.judges import price_of
from judging.model_judge import Request, kept
from judging.models import Assignment, Call, Question

MARGIN_SECONDS = 30
"""Beyond the time that an answer may take: a lease is not taken from a worker that is only slow."""
TRIES = 4
"""Of one call, where the server fails or whoever asked is lost; then the call has failed."""
LOST = _("whoever asked was stopped each time before the answer came")
CAP = _("the next call may cost more than the cap leaves")


@dataclass(frozen=True)
class Lease:
    """A call to be made now, by whoever holds this."""

    call: int
    request: Request
    until: datetime
    reserved: Decimal
    place: str


@dataclass(frozen=True)
class Nothing:
    """No call can be made now; perhaps after so many seconds, None where only other calls' ends can change that.

    is_out: no call is due, so questions that were not made yet may be.
    """

    seconds: float | None = None
    is_out: bool = False


def take(assignment: Assignment, limits: Limits) -> Lease | Nothing:
    """The next call of a running assignment, leased."""
    with transaction.atomic():
        row = Assignment.objects.select_for_update().select_related("judge").get(pk=assignment.pk)
        if row.state != Assignment.State.RUNNING:
            return Nothing()
        call = _next(row)
        if call is None:
            return Nothing(is_out=True)
        request = kept(call.sent)
        most = price_of(row.judge).at_most(request)
        if row.spent + row.reserved + most.amount > row.cap:
            return _over_cap(row)
        place, seconds = limits.take(most.tokens_out + request.characters // 4)
        if not place:
            return Nothing(seconds)
        return _leased(row, call, request, most.amount, place)


def release_lapsed(assignment: Assignment) -> int:
    """Frees the calls whose leases ran out, and counts what they may have cost as spent. How many those were."""
    with transaction.atomic():
        row = Assignment.objects.select_for_update().get(pk=assignment.pk)
        lapsed = under_way(row).filter(leased_until__lt=timezone.now()).select_for_update(of=("self",))
        calls = list(lapsed)
        for call in calls:
            pay(row, call.reserved, call.reserved)
            call.cost += call.reserved
            call.tries, call.is_estimated = call.tries + 1, True
            free(call)
            if call.tries >= TRIES:
                call.state, call.error, call.ended_at = Call.State.FAILED, LOST, timezone.now()
            call.save()
        tell([call for call in calls if call.state == Call.State.FAILED])
    return len(calls)


def pay(row: Assignment, reserved: Decimal, spent: Decimal) -> None:
    """Takes back what was set aside, and counts what was spent."""
    Assignment.objects.filter(pk=row.pk).update(reserved=F("reserved") - reserved, spent=F("spent") + spent)


def free(call: Call) -> None:
    """Nobody holds it; it waits to be made."""
    call.state, call.leased_until, call.paid_by, call.reserved = Call.State.PENDING, None, None, Decimal(0)


def under_way(row: Assignment) -> QuerySet[Call]:
    """Calls that are being made and that the assignment pays for."""
    return Call.objects.filter(paid_by=row, state=Call.State.LEASED)


def waiting(row: Assignment) -> QuerySet[Call]:
    """Calls that its questions wait for, and that nobody makes yet."""
    asked = Question.objects.filter(assignment=row, call=OuterRef("pk"))
    return Call.objects.filter(Exists(asked), judge=row.judge_id, state=Call.State.PENDING)


def halt(row: Assignment, reason: str) -> None:
    """Ends a running one by itself, with the reason; somebody may let it go on."""
    running = Assignment.objects.filter(pk=row.pk, state=Assignment.State.RUNNING)
    running.update(state=Assignment.State.HALTED, reason=reason)


def _next(row: Assignment) -> Call | None:
    due = Q(not_before=None) | Q(not_before__lte=timezone.now())
    return waiting(row).filter(due).select_for_update(skip_locked=True, of=("self",)).order_by("pk").first()


def _over_cap(row: Assignment) -> Nothing:
    # What is under way may turn out cheaper than was set aside for it.
    if not under_way(row).exists():
        halt(row, CAP)
    return Nothing()


def _leased(row: Assignment, call: Call, request: Request, most: Decimal, place: str) -> Lease:
    until = timezone.now() + timedelta(seconds=row.judge.answer_seconds + MARGIN_SECONDS)
    call.state, call.leased_until, call.paid_by, call.reserved = Call.State.LEASED, until, row, most
    call.save(update_fields=["state", "leased_until", "paid_by", "reserved"])
    Assignment.objects.filter(pk=row.pk).update(reserved=F("reserved") + most)
    return Lease(call.pk, request, until, most, place)
