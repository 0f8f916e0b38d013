"""Store the result of a call: its end, its cost, and the verdict; or schedule another try, or halt the assignment.

This is the only module that decides about retries.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_noop as _

from judging.judge_runs.leases import MAX_TRIES, Lease, halt, pay, release_call
from judging.judge_runs.questions import is_filled
from judging.judge_runs.rate_limits import JudgeRateLimiter
from judging.judge_runs.results import save_verdicts
from judging.judges import price_of, rubric_of
from judging.model_judge import (
    AccessDenied,
    CallResult,
    Cost,
    HostNotAllowed,
    Reading,
    Reply,
    RequestRejected,
    ServerBusy,
    ServerUnavailable,
    State,
    failed_result,
    interpret_reply,
    restore_request,
)
from judging.models import Assignment, Call

MAX_ERRORS = 8
"""The number of failed calls in a row, of any calls, after which the server counts as down."""
MAX_BUSY_ERRORS = 24
"""The same limit for replies that only report that the server is busy."""
BACK_OFF_SECONDS = 1.0
BUSY_SECONDS = 5.0
MAX_BACK_OFF_SECONDS = 60.0
CHANGED = [
    "state", "tries", "leased_until", "not_before", "paid_by", "reserved", "raw", "parsed", "parser", "flags", "error",
    "answered_by", "finish_reason", "tokens_in", "tokens_out", "is_estimated", "cost", "seconds", "ended_at",
]  # fmt: skip
END_FIELDS = ["state", "error", "ended_at", "parser", "flags", "parsed"]
STORED_BATCH_SIZE = 500
DOWN = _("the server failed many times in a row")


def settle(
    assignment: Assignment, lease: Lease, result: Reply | Exception, limits: JudgeRateLimiter, seconds: float
) -> None:
    """Store the result of a lease. Do nothing for a lease that has lapsed: its cost was counted when it lapsed."""
    limits.release(lease.slot)
    with transaction.atomic():
        row = Assignment.objects.select_for_update().select_related("judge").get(pk=assignment.pk)
        leased_calls = Call.objects.select_for_update(of=("self",)).select_related("judge", "rubric__criterion")
        call = leased_calls.filter(
            pk=lease.call, state=Call.State.LEASED, leased_until=lease.until, paid_by=row
        ).first()
        if call is None:
            return
        call.seconds = seconds
        release_call(call)
        spent = (
            _save_reply(call, result) if isinstance(result, Reply) else _handle_error(row, call, result, lease, limits)
        )
        pay(row, lease.reserved, spent)
        call.cost += spent
        # All fields but the request that was sent, which is long and never changes.
        call.save(update_fields=CHANGED)
        if call.state != Call.State.PENDING:
            save_verdicts([call])
    if isinstance(result, Reply):
        limits.clear_errors()


def read_stored_replies(calls: QuerySet[Call]) -> None:
    """Read the replies of unparsed calls again, and store the verdicts of those that are understood now.

    A later version reads more forms of replies, and a repeated question costs. All calls are of one judge.
    """
    unparsed = calls.filter(state=Call.State.UNPARSED).exclude(raw="").select_related("judge", "rubric__criterion")
    readable: list[Call] = []
    for call in unparsed.select_for_update(of=("self",)):
        end = interpret_reply(Reply(call.raw, call.finish_reason, "", "", None, None), rubric_of(call.rubric))
        if end.state is State.DONE:
            _save_end(call, end)
            readable.append(call)
    Call.objects.bulk_update(readable, END_FIELDS, batch_size=STORED_BATCH_SIZE)
    save_verdicts(readable)


def finish(assignment: Assignment) -> bool:
    """End a running assignment that has no questions left. Return whether this call ended it."""
    unanswered = assignment.questions.filter(call__state__in=(Call.State.PENDING, Call.State.LEASED))
    if unanswered.exists() or not is_filled(assignment):
        return False
    running = Assignment.objects.filter(pk=assignment.pk, state=Assignment.State.RUNNING)
    return bool(running.update(state=Assignment.State.DONE, reason="", ended_at=timezone.now()))


def _save_reply(call: Call, reply: Reply) -> Decimal:
    cost = price_of(call.judge).actual_cost(restore_request(call.sent), reply)
    _save_end(call, interpret_reply(reply, rubric_of(call.rubric)))
    _count(call, cost)
    call.tries += 1
    call.raw, call.answered_by, call.finish_reason = reply.text, reply.model, reply.finish_reason
    return cost.amount


def _save_end(call: Call, end: CallResult) -> None:
    call.state, call.error, call.ended_at = Call.State(end.state.value), end.reason, timezone.now()
    reading = end.reading
    call.parser = reading.step if reading else ""
    call.flags = [name for name in ("contradicts", "ambiguous") if reading and getattr(reading, name)]
    # Nothing of an earlier try may remain.
    call.parsed = _parsed_json(end, reading) if reading else None


def _parsed_json(end: CallResult, reading: Reading) -> dict[str, Any]:
    scores = list(reading.scores) if reading.scores else None
    return {"outcome": end.outcome.name, "scores": scores, "reasoning": reading.reasoning}


def _count(call: Call, cost: Cost) -> None:
    call.tokens_in, call.tokens_out = cost.tokens_in, cost.tokens_out
    call.is_estimated = call.is_estimated or cost.is_estimated


def _handle_error(row: Assignment, call: Call, error: Exception, lease: Lease, limits: JudgeRateLimiter) -> Decimal:
    """Handle a failed call and return its cost: nothing, unless a reply may have been lost."""
    call.error = str(error)
    if isinstance(error, AccessDenied | HostNotAllowed):
        halt(row, str(error))
        return Decimal(0)
    if not isinstance(error, ServerBusy | ServerUnavailable | RequestRejected):
        # An error of our own: raise it. The lease lapses, so nothing is lost.
        raise error
    if limits.count_error() >= (MAX_BUSY_ERRORS if isinstance(error, ServerBusy) else MAX_ERRORS):
        halt(row, f"{DOWN}: {error}")
    if isinstance(error, ServerBusy):
        limits.pause(BUSY_SECONDS if error.seconds is None else error.seconds)
        return Decimal(0)
    call.tries += 1
    if isinstance(error, RequestRejected) or call.tries >= MAX_TRIES:
        _save_end(call, failed_result(str(error)))
    else:
        wait = min(BACK_OFF_SECONDS * 2**call.tries, MAX_BACK_OFF_SECONDS)
        call.not_before = timezone.now() + timedelta(seconds=wait)
    lost = isinstance(error, ServerUnavailable) and error.may_cost
    call.is_estimated = call.is_estimated or lost
    return lease.reserved if lost else Decimal(0)
