"""Check a launch against limits on hours. Used hours, remaining hours of open runs and the estimate of the launch count
together."""

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

from runs.launching.budgets.hours import Hours, hours_of, planned_share, spent_hours, sums
from runs.models import Attempt, Experiment, Limit, Run
from runs.models.job import OPEN
from workers.config import ConfigError, Problem, RunConfig

LIMIT_PATH = "limit"


@dataclass(frozen=True)
class Demand:
    """A run to launch, and its estimated seconds, or None without an estimate.

    `share` is the share of a GPU that such runs had, for a run with auto; None if that is not known.
    """

    config: RunConfig
    seconds: float | None
    share: float | None = None

    @property
    def hours(self) -> Hours:
        """Return the estimated hours; none without an estimate."""
        return hours_of(self.config, self.seconds or 0.0, self.share)


@dataclass(frozen=True)
class Use:
    """A limit, the used hours of its kind, and the promised ones: the estimated remaining hours of open runs."""

    limit: Limit
    used: float
    promised: float

    @property
    def left(self) -> float:
        """Return the hours that may still be launched; negative if the limit was lowered since."""
        return self.limit.hours - self.used - self.promised


def check_limits(person: User, experiment: Experiment | None, demands: Sequence[Demand]) -> None:
    """Raise ConfigError with a sentence for each limit that these runs would exceed.

    Call it in the transaction that creates the runs. It locks the limits, so that no other launch is checked meanwhile.
    """
    locked = limits_on(person, experiment).select_for_update().order_by("pk")
    problems = [Problem(LIMIT_PATH, refusal) for limit in locked if (refusal := _refusal(use_of(limit), demands))]
    if problems:
        raise ConfigError(problems)


def check_resume_limits(person: User, experiment: Experiment | None, runs: Sequence[Run]) -> None:
    """Check the limits for ended runs that are to be resumed: each takes the rest of its estimate.

    Raise ConfigError.
    """
    have = Extract(F("attempts__ended_at") - F("attempts__started_at"), "epoch")
    took = Coalesce(Sum(Cast(have, FloatField())), Value(0.0), output_field=FloatField())
    left = Greatest(F("estimated_seconds") - took, Value(0.0), output_field=FloatField())
    rows = Run.objects.filter(pk__in=[run.pk for run in runs]).order_by()
    known = Case(When(estimated_seconds__isnull=False, then=left))
    values = rows.annotate(left=known, share=planned_share()).values_list("pk", "left", "share")
    estimates = {pk: (seconds, share) for pk, seconds, share in values}
    check_limits(person, experiment, [Demand(run.run_config, *estimates[run.pk]) for run in runs])


def limits_on(person: User, experiment: Experiment | None) -> QuerySet[Limit]:
    """Return the limits that apply to a launch by this user in this experiment."""
    condition = Q(person=person)
    return Limit.objects.filter(condition if experiment is None else condition | Q(experiment=experiment))


def use_of(limit: Limit) -> Use:
    """Return the used and promised hours of a limit. Runs in the trash count; purged runs do not."""
    owner = {"created_by": limit.person_id} if limit.person_id else {"experiment": limit.experiment_id}
    runs = Run.objects.filter(**owner)
    used = spent_hours(Attempt.objects.filter(run__in=runs), period_start(limit.period))
    return Use(limit, getattr(used, limit.kind), getattr(promised_hours(runs), limit.kind))


def period_start(period: str) -> datetime | None:
    """Return the time from which the hours of a period are counted; None if all hours count."""
    if period != Limit.Period.MONTH:
        return None
    return timezone.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def promised_hours(runs: QuerySet[Run]) -> Hours:
    """Return the estimated remaining hours of those runs that have not ended."""
    took = Extract(Coalesce(F("attempts__ended_at"), Now()) - F("attempts__started_at"), "epoch")
    have = Coalesce(Sum(Cast(took, FloatField())), Value(0.0), output_field=FloatField())
    left = Greatest(F("estimated_seconds") - have, Value(0.0), output_field=FloatField())
    open_runs = runs.filter(state__in=OPEN, estimated_seconds__isnull=False)
    planned = open_runs.annotate(left=left, share=planned_share())
    return Hours(**planned.aggregate(**sums("", F("left"), F("share"))))


def _refusal(use: Use, demands: Sequence[Demand]) -> str:
    """Return why these runs may not be launched; an empty text if they may."""
    kind = use.limit.kind
    counted = [demand for demand in demands if (demand.config.compute.devices > 0) == (kind == Limit.Kind.GPU)]
    requested = sum(getattr(demand.hours, kind) for demand in counted)
    unknown = sum(demand.seconds is None for demand in counted)
    # A run without an estimate may start as long as any hours are left.
    if not counted or (use.left > 0 and requested <= use.left):
        return ""
    return " ".join([_describe_limit(use.limit), _describe_use(use, requested, unknown)])


def _describe_limit(limit: Limit) -> str:
    words = {
        Limit.Period.MONTH: gettext("%(whose)s has a limit of %(hours)s %(kind)s-hours per month."),
        Limit.Period.ALL: gettext("%(whose)s has a limit of %(hours)s %(kind)s-hours in total."),
    }
    owner = limit.person.get_username() if limit.person else gettext("The experiment")
    return words[Limit.Period(limit.period)] % {
        "whose": owner, "hours": f"{limit.hours:g}", "kind": limit.kind.upper(),
    }  # fmt: skip


def _describe_use(use: Use, requested: float, unknown: int) -> str:
    message = gettext("Used: %(used)s; reserved for unfinished runs: %(promised)s; this launch: %(wanted)s.")
    estimate = _rounded(requested)
    if unknown:
        estimate += gettext(" plus runs without an estimate")
    return message % {"used": _rounded(use.used), "promised": _rounded(use.promised), "wanted": estimate}


def _rounded(hours: float) -> str:
    return f"{hours:.3g}"


def uses(limits: Iterable[Limit]) -> list[Use]:
    """Return the used hours of each limit. Two queries per limit."""
    return [use_of(limit) for limit in limits]


def set_limit(
    *, kind: str, period: str, hours: float, person: User | None = None, experiment: Experiment | None = None
) -> Limit:
    """Create or change a limit, and return it. The caller checks whether the user may set it."""
    key: dict[str, Any] = {"person": person, "experiment": experiment, "kind": kind, "period": period}
    limit, _ = Limit.objects.update_or_create(**key, defaults={"hours": hours})
    return limit
