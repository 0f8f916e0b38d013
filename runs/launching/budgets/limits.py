"""Limits on hours, and whether a launch keeps them: what is used, what runs that have not ended will still take, and
what the launch is estimated to take, together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Case, F, FloatField, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Cast, Coalesce, Extract, Greatest, Now
from django.utils import timezone
from django.utils.translation import gettext

from runs.launching.budgets.hours import Hours, hours_of, spent, sums
from runs.models import Attempt, Experiment, Limit, Run
from runs.models.job import OPEN
from workers.config import ConfigError, Problem, RunConfig

PLACE = "limit"


@dataclass(frozen=True)
class Demand:
    """A run to launch, and the seconds that it is estimated to take; None where nobody knows."""

    config: RunConfig
    seconds: float | None


@dataclass(frozen=True)
class Use:
    """A limit, the hours of its kind that are used, and those that runs which have not ended will still take."""

    limit: Limit
    used: float
    promised: float

    @property
    def left(self) -> float:
        """Hours that may still be launched; below nothing where it was lowered since."""
        return self.limit.hours - self.used - self.promised


def check_limits(person: User, experiment: Experiment | None, demands: Sequence[Demand]) -> None:
    """To be called in the transaction that makes the runs, of whom limits then let no second one pass meanwhile.

    Raises ConfigError with a sentence for each limit that would be exceeded.
    """
    locked = limits_on(person, experiment).select_for_update().order_by("pk")
    problems = [Problem(PLACE, said) for limit in locked if (said := _refusal(use_of(limit), demands))]
    if problems:
        raise ConfigError(problems)


def check_going_on(person: User, experiment: Experiment | None, runs: QuerySet[Run]) -> None:
    """The same for runs that have ended and are to go on: each takes what is left of its estimate.

    Raises ConfigError.
    """
    have = Extract(F("attempts__ended_at") - F("attempts__started_at"), "epoch")
    took = Coalesce(Sum(Cast(have, FloatField())), Value(0.0), output_field=FloatField())
    left = Greatest(F("estimated_seconds") - took, Value(0.0), output_field=FloatField())
    found = runs.order_by().annotate(left=Case(When(estimated_seconds__isnull=False, then=left)))
    check_limits(person, experiment, [Demand(run.run_config, run.left) for run in found])


def limits_on(person: User, experiment: Experiment | None) -> QuerySet[Limit]:
    """The limits that a launch by this person in this experiment must keep."""
    mine = Q(person=person)
    return Limit.objects.filter(mine if experiment is None else mine | Q(experiment=experiment))


def use_of(limit: Limit) -> Use:
    """How much of a limit is used now. What lies in the bin counts too; what was purged is gone."""
    mine = {"created_by": limit.person_id} if limit.person_id else {"experiment": limit.experiment_id}
    runs = Run.objects.filter(**mine)
    used = spent(Attempt.objects.filter(run__in=runs), since_of(limit.period))
    return Use(limit, getattr(used, limit.kind), getattr(promised(runs), limit.kind))


def since_of(period: str) -> datetime | None:
    """When the hours of a period began to be counted; None where they all are."""
    if period != Limit.Period.MONTH:
        return None
    return timezone.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def promised(runs: QuerySet[Run]) -> Hours:
    """What those of the runs that have not ended will still take, by their estimates."""
    took = Extract(Coalesce(F("attempts__ended_at"), Now()) - F("attempts__started_at"), "epoch")
    have = Coalesce(Sum(Cast(took, FloatField())), Value(0.0), output_field=FloatField())
    left = Greatest(F("estimated_seconds") - have, Value(0.0), output_field=FloatField())
    going = runs.filter(state__in=OPEN, estimated_seconds__isnull=False).annotate(left=left)
    return Hours(**going.aggregate(**sums("", F("left"))))


def _refusal(use: Use, demands: Sequence[Demand]) -> str:
    """Why these may not be launched; empty where they may."""
    kind = use.limit.kind
    mine = [demand for demand in demands if (demand.config.compute.gpus > 0) == (kind == Limit.Kind.GPU)]
    wanted = sum(_hours(demand, kind) for demand in mine if demand.seconds is not None)
    unknown = sum(demand.seconds is None for demand in mine)
    # Where nobody knows what a run takes, it may begin as long as anything is left.
    if not mine or (use.left > 0 and wanted <= use.left):
        return ""
    return " ".join([_limit_in_words(use.limit), _use_in_words(use, wanted, unknown)])


def _hours(demand: Demand, kind: str) -> float:
    hours: float = getattr(hours_of(demand.config, demand.seconds or 0.0), kind)
    return hours


def _limit_in_words(limit: Limit) -> str:
    words = {
        Limit.Period.MONTH: gettext("%(whose)s has a limit of %(hours)s %(kind)s-hours a month."),
        Limit.Period.ALL: gettext("%(whose)s has a limit of %(hours)s %(kind)s-hours in all."),
    }
    whose = limit.person.get_username() if limit.person else gettext("The experiment")
    return words[Limit.Period(limit.period)] % {
        "whose": whose, "hours": f"{limit.hours:g}", "kind": limit.kind.upper(),
    }  # fmt: skip


def _use_in_words(use: Use, wanted: float, unknown: int) -> str:
    said = gettext("Used: %(used)s; still to come of runs that have not ended: %(promised)s; this launch: %(wanted)s.")
    estimate = _rounded(wanted)
    if unknown:
        estimate += gettext(" and what nobody can estimate yet")
    return said % {"used": _rounded(use.used), "promised": _rounded(use.promised), "wanted": estimate}


def _rounded(hours: float) -> str:
    return f"{hours:.3g}"


def uses(limits: Iterable[Limit]) -> list[Use]:
    """How much of each limit is used. Two queries a limit."""
    return [use_of(limit) for limit in limits]


def set_limit(
    *, kind: str, period: str, hours: float, person: User | None = None, experiment: Experiment | None = None
) -> Limit:
    """The limit, made or changed. Whether somebody may set it is for the caller to know."""
    which: dict[str, Any] = {"person": person, "experiment": experiment, "kind": kind, "period": period}
    limit, _ = Limit.objects.update_or_create(**which, defaults={"hours": hours})
    return limit
