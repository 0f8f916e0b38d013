"""Lease the next call of an assignment, and reserve its highest possible cost first: the cap holds for any reply.

A lease that lapses, because its worker was killed, is paid in full: nobody knows whether the call was answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_noop as _

from judging.judge_runs.rate_limits import JudgeRateLimiter
from judging.judge_runs.results import save_verdicts
from judging.judges import price_of
from judging.model_judge import Request, restore_request
from judging.models import Assignment, Call, Question

MARGIN_SECONDS = 30
"""The time beyond the limit of a reply, so that a lease is not taken from a worker that is only slow."""
MAX_TRIES = 4
"""The number of tries of one call if the server fails or the worker is lost; then the call has failed."""
LOST = _("the worker stopped each time before the reply arrived")
CAP = _("the next call may cost more than the rest of the cap")


@dataclass(frozen=True)
class Lease:
    """A call that the holder of this lease makes now."""

    call: int
    request: Request
    until: datetime
    reserved: Decimal
    slot: str


@dataclass(frozen=True)
class NoLease:
    """Result if no call can be made now. `seconds` is the wait until one can, None if only the end of other calls can
    change that.

    is_out: no call is due, so further questions may be created.
    """

    seconds: float | None = None
    is_out: bool = False


def take_lease(assignment: Assignment, limits: JudgeRateLimiter) -> Lease | NoLease:
    """Lease the next call of a running assignment."""
    with transaction.atomic():
        row = Assignment.objects.select_for_update().select_related("judge").get(pk=assignment.pk)
        if row.state != Assignment.State.RUNNING:
            return NoLease()
        call = _next_due_call(row)
        if call is None:
            return NoLease(is_out=True)
        request = restore_request(call.sent)
        max_cost = price_of(row.judge).max_cost(request)
        if row.spent + row.reserved + max_cost.amount > row.cap:
            return _over_cap(row)
        slot, seconds = limits.take(max_cost.tokens_out + request.characters // 4)
        if not slot:
            return NoLease(seconds)
        return _create_lease(row, call, request, max_cost.amount, slot)


def release_lapsed(assignment: Assignment) -> int:
    """Release the calls whose leases lapsed, and count their reserved cost as spent. Return their number."""
    with transaction.atomic():
        row = Assignment.objects.select_for_update().get(pk=assignment.pk)
        lapsed = leased_calls(row).filter(leased_until__lt=timezone.now()).select_for_update(of=("self",))
        calls = list(lapsed)
        for call in calls:
            pay(row, call.reserved, call.reserved)
            call.cost += call.reserved
            call.tries, call.is_estimated = call.tries + 1, True
            release_call(call)
            if call.tries >= MAX_TRIES:
                call.state, call.error, call.ended_at = Call.State.FAILED, LOST, timezone.now()
            call.save()
        save_verdicts([call for call in calls if call.state == Call.State.FAILED])
    return len(calls)


def pay(row: Assignment, reserved: Decimal, spent: Decimal) -> None:
    """Release the reserved amount, and add the spent amount."""
    Assignment.objects.filter(pk=row.pk).update(reserved=F("reserved") - reserved, spent=F("spent") + spent)


def release_call(call: Call) -> None:
    """Make the call pending again, without a lease."""
    call.state, call.leased_until, call.paid_by, call.reserved = Call.State.PENDING, None, None, Decimal(0)


def leased_calls(row: Assignment) -> QuerySet[Call]:
    """Return the calls that are being made and that the assignment pays for."""
    return Call.objects.filter(paid_by=row, state=Call.State.LEASED)


def waiting_calls(row: Assignment) -> QuerySet[Call]:
    """Return the pending calls of the assignment's questions."""
    questions = Question.objects.filter(assignment=row, call=OuterRef("pk"))
    return Call.objects.filter(Exists(questions), judge=row.judge_id, state=Call.State.PENDING)


def halt(row: Assignment, reason: str) -> None:
    """Halt a running assignment with the reason; a user may resume it."""
    running = Assignment.objects.filter(pk=row.pk, state=Assignment.State.RUNNING)
    running.update(state=Assignment.State.HALTED, reason=reason)


def _next_due_call(row: Assignment) -> Call | None:
    due = Q(not_before=None) | Q(not_before__lte=timezone.now())
    return waiting_calls(row).filter(due).select_for_update(skip_locked=True, of=("self",)).order_by("pk").first()


def _over_cap(row: Assignment) -> NoLease:
    # Calls under way may turn out cheaper than the amount reserved for them.
    if not leased_calls(row).exists():
        halt(row, CAP)
    return NoLease()


def _create_lease(row: Assignment, call: Call, request: Request, most: Decimal, slot: str) -> Lease:
    until = timezone.now() + timedelta(seconds=row.judge.answer_seconds + MARGIN_SECONDS)
    call.state, call.leased_until, call.paid_by, call.reserved = Call.State.LEASED, until, row, most
    call.save(update_fields=["state", "leased_until", "paid_by", "reserved"])
    Assignment.objects.filter(pk=row.pk).update(reserved=F("reserved") + most)
    return Lease(call.pk, request, until, most, slot)
