"""Selection of the runs to compare, from the address: single runs by uid, or the runs of an experiment by a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext

from runs.compare import run_table
from runs.http import UnknownChoice, named_experiment, require_choice
from runs.kinds import kind_of
from runs.models import Experiment, Run
from runs.models.experiment import Person, RunQuerySet

DEFAULT_RUNS = 10
MAX_RUNS = 50
MAX_NAMED_RUNS = 200
MAX_OFFERED_RUNS = 60


@dataclass(frozen=True)
class Choice:
    """The runs to show, in the requested order; the number of all selected runs, and problems such as missing runs."""

    runs: list[Run]
    total: int
    problems: tuple[str, ...] = ()

    @property
    def more(self) -> int:
        """Return the number of runs that "show all" would display, or 0 if all selected runs are displayed."""
        return min(self.total, MAX_RUNS) if self.total > len(self.runs) else 0


def parse_choice(request: HttpRequest) -> Choice:
    """Return the runs that the address selects and the user may see. Raise UnknownChoice if none of them exists."""
    show = MAX_RUNS if require_choice(request, "show", ("all",), "") == "all" else DEFAULT_RUNS
    uids, baseline = list(dict.fromkeys(request.GET.getlist("run"))), request.GET.get("baseline", "")
    if uids:
        choice = choice_by_uids(request.user, uids, show, baseline)
        if not choice.runs:
            raise UnknownChoice(" ".join(choice.problems))
        return choice
    experiment = _experiment(request)
    return Choice([], 0) if experiment is None else _choice_by_query(request, experiment, show, baseline)


def parse_whole_choice(request: HttpRequest) -> Choice:
    """Return the runs that the address selects. Raise UnknownChoice if one of them does not exist.

    Charts and files use it, because they cannot show a notice.
    """
    choice = parse_choice(request)
    if choice.problems:
        raise UnknownChoice(" ".join(choice.problems))
    return choice


def chart_query(request: HttpRequest, choice: Choice) -> QueryDict:
    """Return the parameters for charts of this choice, without the runs that do not exist."""
    query = request.GET.copy()
    if choice.problems:
        query.setlist("run", [run.uid for run in choice.runs])
    return query


def choice_by_uids(person: Person, uids: Sequence[str], show: int, baseline: str = "") -> Choice:
    """Return the runs with these uids that the user may see, in this order, always with the baseline. One query."""
    requested = list(uids[:MAX_NAMED_RUNS])
    runs_by_uid = {run.uid: run for run in _runs(person).filter(uid__in=requested)}
    runs = [runs_by_uid[uid] for uid in requested if uid in runs_by_uid]
    missing = [uid[:20] for uid in requested if uid not in runs_by_uid]
    problems = []
    if missing:
        problems.append(gettext("There is no run %(uids)s that you may see.") % {"uids": ", ".join(missing)})
    if len(uids) > MAX_NAMED_RUNS:
        message = gettext("At most %(most)s runs can be compared, not %(n)s.")
        problems.append(message % {"most": MAX_NAMED_RUNS, "n": len(uids)})
    return Choice(_with_baseline(runs[:show], runs_by_uid.get(baseline)), len(runs), tuple(problems))


def _choice_by_query(request: HttpRequest, experiment: Experiment, show: int, baseline: str) -> Choice:
    """Return the runs of an experiment that match `q`, as in its table; without `q`, all runs that are not archived.

    The newest are shown, and the baseline, which newer runs must not push out of the comparison.
    """
    runs = _runs(request.user).filter(experiment=experiment)
    try:
        matches = run_table.filter_by_terms(
            runs, run_table.parse(request.GET.get("q", "")), run_table.vocabulary(experiment)
        )
    except run_table.QueryError as error:
        raise UnknownChoice(" ".join(f"q: {problem.message}" for problem in error.problems)) from error
    baseline_run = matches.filter(uid=baseline).first() if baseline else None
    return Choice(_with_baseline(list(matches.order_by("-pk")[:show]), baseline_run), matches.count())


def _with_baseline(runs: list[Run], baseline: Run | None) -> list[Run]:
    return runs if baseline is None or baseline in runs else [*runs[:-1], baseline]


def offered_runs(request: HttpRequest, selected_runs: Sequence[Run]) -> list[Run]:
    """Return runs to select from, the newest first: of the current experiments, or of all if there is none yet.

    Evaluations and probes, which train nothing, are offered to readers who have selected one.
    """
    runs = _runs(request.user).filter(archived_at__isnull=True)
    runs = runs if any(not kind_of(run.method).is_listed for run in selected_runs) else runs.trainings()
    at_hand = {run.experiment_id for run in selected_runs} or {e.pk for e in [_experiment(request)] if e}
    runs = runs.filter(experiment__in=at_hand) if at_hand else runs
    return list(runs.order_by("-pk")[:MAX_OFFERED_RUNS])


def _runs(person: Person) -> RunQuerySet:
    return Run.objects.visible_to(person).select_related("experiment")


def _experiment(request: HttpRequest) -> Experiment | None:
    return named_experiment(request, request.GET.get("experiment", ""))
