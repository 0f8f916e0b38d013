"""Puts judges to work on tournaments and on gold, and stops them. Who may is for the caller to know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from judging.judge_runs.leases import release_lapsed
from judging.judge_runs.questions import planned
from judging.judge_runs.rate_limits import Limits
from judging.models import Assignment, Call, GoldSet, Judge, Rubric, Tournament

STATE = Assignment.State
SAMPLES_AT_MOST = 20
AGAIN = (Call.State.FAILED, Call.State.UNPARSED, Call.State.REFUSED)


class CannotAsk(ValueError):
    """An assignment that would make no sense, or a change that cannot be made now. The message says why."""


@dataclass(frozen=True)
class Order:
    """What a judge is to do: a tournament or a gold set, by which rubrics, for how much at most."""

    judge: Judge
    rubrics: Sequence[Rubric]
    cap: Decimal
    tournament: Tournament | None = None
    gold_set: GoldSet | None = None
    both_orders: bool = True
    samples: int = 1
    asks_twice: bool = False


def start(order: Order, person: User) -> Assignment:
    """Begins it; `asking.work` does the asking. Raises CannotAsk."""
    _check(order)
    with transaction.atomic():
        # One at a time, so that a click that came twice does not pay twice.
        Judge.objects.select_for_update(no_key=True).get(pk=order.judge.pk)
        place = {"judge": order.judge, "tournament": order.tournament, "gold_set": order.gold_set}
        if Assignment.objects.filter(**place, state__in=(STATE.RUNNING, STATE.PAUSED, STATE.HALTED)).exists():
            raise CannotAsk(gettext("This judge is at work there already: let that go on, or cancel it first."))
        made = Assignment.objects.create(
            **place, both_orders=order.both_orders, samples=order.samples, asks_twice=order.asks_twice,
            cap=order.cap, created_by=person,
        )  # fmt: skip
        made.rubrics.set(order.rubrics)
        made.planned = planned(made)
        made.save(update_fields=["planned"])
        if made.planned == 0:
            raise CannotAsk(
                gettext("There is nothing to ask there: no pair has two different answers, or none of these criteria.")
            )
    Limits(order.judge).fresh()
    return made


def pause(assignment: Assignment) -> None:
    """Makes no more calls until it goes on; those under way are still heard. Raises CannotAsk."""
    _move(assignment, (STATE.RUNNING,), STATE.PAUSED)


def cancel(assignment: Assignment) -> None:
    """Ends it; what was said stays. Raises CannotAsk."""
    _move(assignment, (STATE.RUNNING, STATE.PAUSED, STATE.HALTED), STATE.CANCELLED)
    Assignment.objects.filter(pk=assignment.pk).update(ended_at=timezone.now())


def go_on(assignment: Assignment, cap: Decimal | None = None, *, again: bool = False) -> None:
    """Goes on, with another cap where one is given; `again` asks anew what failed, was refused or not understood.
    Raises CannotAsk."""
    with transaction.atomic():
        if cap is not None:
            Assignment.objects.filter(pk=assignment.pk).update(cap=cap)
        _move(assignment, tuple(set(STATE) - {STATE.RUNNING}), STATE.RUNNING)
        Assignment.objects.filter(pk=assignment.pk).update(ended_at=None)
        if again:
            asked = Call.objects.filter(pk__in=assignment.questions.values("call"), state__in=AGAIN)
            asked.update(state=Call.State.PENDING, tries=0, not_before=None, ended_at=None)
    release_lapsed(assignment)
    Limits(assignment.judge).fresh()


def _move(assignment: Assignment, before: Sequence[str], to: str) -> None:
    moved = Assignment.objects.filter(pk=assignment.pk, state__in=before).update(state=to, reason="")
    if not moved:
        state = Assignment.objects.values_list("state", flat=True).get(pk=assignment.pk)
        said = gettext("It is %(state)s: only one that is %(choices)s can become %(to)s.")
        raise CannotAsk(said % {"state": state, "choices": " or ".join(sorted(before)), "to": to})
    assignment.state = to


def _check(order: Order) -> None:
    if (order.tournament is None) == (order.gold_set is None):
        raise CannotAsk(gettext("Name either a tournament or a gold set."))
    if not order.rubrics:
        raise CannotAsk(gettext("Choose at least one criterion."))
    if order.judge.kind == Judge.Kind.RULES:
        raise CannotAsk(gettext("The judge by rules is asked nothing: it judges at once."))
    if order.judge.kind == Judge.Kind.IMPORTED:
        said = gettext("%(judge)s is the judge of an imported file: it cannot be asked here.")
        raise CannotAsk(said % {"judge": order.judge})
    if order.judge.retired_at is not None:
        raise CannotAsk(gettext("%(judge)s has retired: choose one of the list.") % {"judge": order.judge})
    if not 1 <= order.samples <= SAMPLES_AT_MOST:
        raise CannotAsk(gettext("Ask each question 1 to %(most)s times.") % {"most": SAMPLES_AT_MOST})
