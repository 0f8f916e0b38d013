"""Which runs are compared: named one by one, or those of an experiment that a query asks for. The address says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext

from runs.compare import run_table
from runs.http import UnknownChoice, named_experiment, selected
from runs.models import Experiment, Run
from runs.models.experiment import Person

SHOWN = 10
SHOWN_AT_MOST = 50
NAMED_AT_MOST = 200
OFFERED = 60


@dataclass(frozen=True)
class Choice:
    """The runs to show, in the order asked; how many were chosen in all, and which of the named ones are not there."""

    runs: list[Run]
    chosen: int
    problems: tuple[str, ...] = ()

    @property
    def more(self) -> int:
        """Return how many runs would be shown if the reader asked for all, or 0 if all chosen runs are shown."""
        return min(self.chosen, SHOWN_AT_MOST) if self.chosen > len(self.runs) else 0


def choice_of(request: HttpRequest) -> Choice:
    """Return the runs that the address selects and the person may see. Raise UnknownChoice if none of them is there."""
    show = SHOWN_AT_MOST if selected(request, "show", ("all",), "") == "all" else SHOWN
    uids, baseline = list(dict.fromkeys(request.GET.getlist("run"))), request.GET.get("baseline", "")
    if uids:
        choice = named(request.user, uids, show, baseline)
        if not choice.runs:
            raise UnknownChoice(" ".join(choice.problems))
        return choice
    experiment = _experiment(request)
    return Choice([], 0) if experiment is None else _fitting(request, experiment, show, baseline)


def whole_choice_of(request: HttpRequest) -> Choice:
    """Return the runs that the address selects. Raise UnknownChoice if one of them is not there.

    For charts and files, which have no place for a notice.
    """
    choice = choice_of(request)
    if choice.problems:
        raise UnknownChoice(" ".join(choice.problems))
    return choice


def query_of(request: HttpRequest, choice: Choice) -> QueryDict:
    """Return the parameters of charts of this choice: without the runs that are not there."""
    query = request.GET.copy()
    if choice.problems:
        query.setlist("run", [run.uid for run in choice.runs])
    return query


def named(person: Person, uids: Sequence[str], show: int, baseline: str = "") -> Choice:
    """Return the runs with these uids that the person may see, in this order, the baseline always shown. One query."""
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
    return Choice(_with_baseline(runs[:show], found.get(baseline)), len(runs), tuple(problems))


def _fitting(request: HttpRequest, experiment: Experiment, show: int, baseline: str) -> Choice:
    """Return the runs of an experiment that `q` asks for, as in its table; without it, all but archived ones.

    The newest are shown, and the baseline, which newer runs must not push out of the comparison.
    """
    runs = _runs(request.user).filter(experiment=experiment)
    try:
        found = run_table.matching(runs, run_table.parse(request.GET.get("q", "")), run_table.vocabulary(experiment))
    except run_table.QueryError as error:
        raise UnknownChoice(" ".join(f"q: {problem.message}" for problem in error.problems)) from error
    of_baseline = found.filter(uid=baseline).first() if baseline else None
    return Choice(_with_baseline(list(found.order_by("-pk")[:show]), of_baseline), found.count())


def _with_baseline(shown: list[Run], baseline: Run | None) -> list[Run]:
    return shown if baseline is None or baseline in shown else [*shown[:-1], baseline]


def offered(request: HttpRequest, chosen: Sequence[Run]) -> list[Run]:
    """Runs to choose from, the newest first: of the experiments at hand, or of all where there is none yet."""
    runs = _runs(request.user).filter(archived_at__isnull=True)
    at_hand = {run.experiment_id for run in chosen} or {e.pk for e in [_experiment(request)] if e}
    runs = runs.filter(experiment__in=at_hand) if at_hand else runs
    return list(runs.order_by("-pk")[:OFFERED])


def _runs(person: Person) -> QuerySet[Run]:
    return Run.objects.visible_to(person).select_related("experiment")


def _experiment(request: HttpRequest) -> Experiment | None:
    return named_experiment(request, request.GET.get("experiment", ""))
