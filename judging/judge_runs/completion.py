"""What came of a call -> its end, what it cost, and the verdict; or another try later, or the end of the whole asking.

This is the one place where asking again is decided.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop as _

from judging.judge_runs.leases import TRIES, Lease, free, halt, pay
from judging.judge_runs.questions import is_filled
from judging.judge_runs.rate_limits import Limits
from judging.judge_runs.results import tell
from judging.judges import price_of, rubric_of
from judging.model_judge import (
    Busy,
    Cost,
    Denied,
    Ended,
    NotAllowed,
    Reading,
    Rejected,
    Reply,
    Unwell,
    ended,
    failed,
    kept,
)
from judging.models import Assignment, Call

TROUBLES = 8
"""Answers in a row that were none, of whatever calls; then the server is taken to be down."""
BUSY_TROUBLES = 24
"""The same where it only said that it is busy."""
BACK_OFF_SECONDS = 1.0
BUSY_SECONDS = 5.0
BACK_OFF_AT_MOST = 60.0
CHANGED = [
    "state", "tries", "leased_until", "not_before", "paid_by", "reserved", "raw", "parsed", "parser", "flags", "error",
    "answered_by", "finish_reason", "tokens_in", "tokens_out", "is_estimated", "cost", "seconds", "ended_at",
]  # fmt: skip
DOWN = _("the server failed many times in a row")


def settle(assignment: Assignment, lease: Lease, came: Reply | Exception, limits: Limits, seconds: float) -> None:
    """Writes down what came of a lease. Does nothing for one that has lapsed: that was paid for as it lapsed."""
    limits.give_back(lease.place)
    with transaction.atomic():
        row = Assignment.objects.select_for_update().select_related("judge").get(pk=assignment.pk)
        held = Call.objects.select_for_update(of=("self",)).select_related("judge", "rubric__criterion")
        call = held.filter(pk=lease.call, state=Call.State.LEASED, leased_until=lease.until, paid_by=row).first()
        if call is None:
            return
        call.seconds = seconds
        free(call)
        spent = _answered(call, came) if isinstance(came, Reply) else _troubled(row, call, came, lease, limits)
        pay(row, lease.reserved, spent)
        call.cost += spent
        # All but what was sent, which is long and never changes.
        call.save(update_fields=CHANGED)
        if call.state != Call.State.PENDING:
            tell([call])
    if isinstance(came, Reply):
        limits.well()


def finish(assignment: Assignment) -> bool:
    """Ends a running one of which nothing is left to be asked. True where that ended it now."""
    unanswered = assignment.questions.filter(call__state__in=(Call.State.PENDING, Call.State.LEASED))
    if unanswered.exists() or not is_filled(assignment):
        return False
    running = Assignment.objects.filter(pk=assignment.pk, state=Assignment.State.RUNNING)
    return bool(running.update(state=Assignment.State.DONE, reason="", ended_at=timezone.now()))


def _answered(call: Call, reply: Reply) -> Decimal:
    cost = price_of(call.judge).spent(kept(call.sent), reply)
    _end(call, ended(reply, rubric_of(call.rubric)))
    _count(call, cost)
    call.tries += 1
    call.raw, call.answered_by, call.finish_reason = reply.text, reply.model, reply.finish_reason
    return cost.amount


def _end(call: Call, end: Ended) -> None:
    call.state, call.error, call.ended_at = Call.State(end.state.value), end.why, timezone.now()
    reading = end.reading
    call.parser = reading.step if reading else ""
    call.flags = [name for name in ("contradicts", "ambiguous") if reading and getattr(reading, name)]
    # Of an earlier time that it was asked, nothing may stay.
    call.parsed = _parsed(end, reading) if reading else None


def _parsed(end: Ended, reading: Reading) -> dict[str, Any]:
    scores = list(reading.scores) if reading.scores else None
    return {"outcome": end.outcome.name, "scores": scores, "reasoning": reading.reasoning}


def _count(call: Call, cost: Cost) -> None:
    call.tokens_in, call.tokens_out = cost.tokens_in, cost.tokens_out
    call.is_estimated = call.is_estimated or cost.is_estimated


def _troubled(row: Assignment, call: Call, error: Exception, lease: Lease, limits: Limits) -> Decimal:
    """What it cost: nothing, unless an answer may have been lost."""
    call.error = str(error)
    if isinstance(error, Denied | NotAllowed):
        halt(row, str(error))
        return Decimal(0)
    if not isinstance(error, Busy | Unwell | Rejected):
        # A fault of ours: let it be seen. The lease lapses, so nothing is lost.
        raise error
    if limits.trouble() >= (BUSY_TROUBLES if isinstance(error, Busy) else TROUBLES):
        halt(row, f"{DOWN}: {error}")
    if isinstance(error, Busy):
        limits.pause(BUSY_SECONDS if error.seconds is None else error.seconds)
        return Decimal(0)
    call.tries += 1
    if isinstance(error, Rejected) or call.tries >= TRIES:
        _end(call, failed(str(error)))
    else:
        wait = min(BACK_OFF_SECONDS * 2**call.tries, BACK_OFF_AT_MOST)
        call.not_before = timezone.now() + timedelta(seconds=wait)
    lost = isinstance(error, Unwell) and error.may_cost
    call.is_estimated = call.is_estimated or lost
    return lease.reserved if lost else Decimal(0)
