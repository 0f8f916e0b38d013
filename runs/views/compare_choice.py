"""Which runs are compared: named one by one, or those of an experiment that a query asks for. The address says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext

from runs import tables
from runs.models import Experiment, Run
from runs.models.experiment import Person

SHOWN = 10
SHOWN_AT_MOST = 50
NAMED_AT_MOST = 200
OFFERED = 60


@dataclass(frozen=True)
class Choice:
    """The runs to show, in the order asked; how many were chosen in all, and what was asked wrongly."""

    runs: list[Run]
    chosen: int
    problems: tuple[str, ...] = ()

    @property
    def more(self) -> int:
        """How many could be shown if the reader asked for all."""
        return min(self.chosen, SHOWN_AT_MOST) if self.chosen > len(self.runs) else 0


def choice_of(request: HttpRequest) -> Choice:
    """The runs that the address names and that the person may see."""
    show = SHOWN_AT_MOST if request.GET.get("show") == "all" else SHOWN
    uids = list(dict.fromkeys(request.GET.getlist("run")))
    if uids:
        return named(request.user, uids, show)
    experiment = _experiment(request)
    if experiment is None:
        unknown = gettext("There is no such experiment that you may see.")
        return Choice([], 0, (unknown,) if _asks_experiment(request) else ())
    return _fitting(request, experiment, show)


def named(person: Person, uids: Sequence[str], show: int) -> Choice:
    """The runs with these uids that the person may see, in this order. One query."""
    asked = list(uids[:NAMED_AT_MOST])
    found = {run.uid: run for run in _runs(person).filter(uid__in=asked)}
    runs = [found[uid] for uid in asked if uid in found]
    missing = [uid[:20] for uid in asked if uid not in found]
    problems = []
    if missing:
        problems.append(gettext("There is no run %(uids)s that you may see.") % {"uids": ", ".join(missing)})
    if len(uids) > NAMED_AT_MOST:
        said = gettext("At most %(most)s runs can be named, not %(n)s.")
        problems.append(said % {"most": NAMED_AT_MOST, "n": len(uids)})
    return Choice(runs[:show], len(runs), tuple(problems))


def _fitting(request: HttpRequest, experiment: Experiment, show: int) -> Choice:
    """The runs of an experiment that the query `q` asks for, as in its table; without one, all but archived ones."""
    runs = _runs(request.user).filter(experiment=experiment)
    try:
        found = tables.matching(runs, tables.parse(request.GET.get("q", "")), tables.vocabulary(experiment))
    except tables.QueryError as error:
        return Choice([], 0, tuple(problem.message for problem in error.problems))
    return Choice(list(found.order_by("-pk")[:show]), found.count())


def offered(request: HttpRequest, chosen: Sequence[Run]) -> list[Run]:
    """Runs to choose from, the newest first: of the experiments at hand, or of all where there is none yet."""
    runs = _runs(request.user).filter(archived_at__isnull=True)
    at_hand = {run.experiment_id for run in chosen} or {e.pk for e in [_experiment(request)] if e}
    runs = runs.filter(experiment__in=at_hand) if at_hand else runs
    return list(runs.order_by("-pk")[:OFFERED])


def _runs(person: Person) -> QuerySet[Run]:
    return Run.objects.visible_to(person).select_related("experiment")


def _asks_experiment(request: HttpRequest) -> bool:
    return bool(request.GET.get("experiment"))


def _experiment(request: HttpRequest) -> Experiment | None:
    asked = request.GET.get("experiment", "")
    # As many digits as a primary key can have: longer ones would not be one.
    known = asked.isascii() and asked.isdigit() and len(asked) <= 18
    return Experiment.objects.visible_to(request.user).filter(pk=int(asked)).first() if known else None
