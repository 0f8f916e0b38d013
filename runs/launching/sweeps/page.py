"""Context of a sweep's page: its status with the best cells, and its results, which refresh separately."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.paginator import Paginator

from runs.access import may_change
from runs.http import SignedIn
from runs.launching.sweeps.heat_map import heat_map
from runs.launching.sweeps.links import MAX_COMPARED_RUNS, best_runs_first, compare_link, runs_url
from runs.launching.sweeps.options import SweepOptions, parse_options
from runs.launching.sweeps.parallel import parallel_plot
from runs.launching.sweeps.status import sweep_status
from runs.launching.sweeps.table import CellRow, best_cells, cell_rows, explain_absence, mixed_ways
from runs.metrics import cursors, ways_in_words
from runs.models import Run, Sweep
from runs.responses import judgeable_uids

CELLS_A_PAGE = 50
MAX_WATCHED = 100
"""Maximum number of runs that one socket watches."""


def page_context(request: SignedIn, sweep: Sweep) -> dict[str, Any]:
    """Return the context of the whole page. The number of queries does not depend on the number of runs."""
    options = parse_options(request, sweep)
    rows = cell_rows(sweep, options.metric)
    runs = best_runs_first(rows, best_cells(rows, None, options.metric.direction))
    compared_uids = [run.uid for run in runs[:MAX_COMPARED_RUNS]]
    return {
        **_status(request, sweep, options, rows),
        **_results(request, sweep, options, rows),
        "compare": compare_link(runs),
        "judge_uids": judgeable_uids(compared_uids, request.user),
    }


def status_context(request: SignedIn, sweep: Sweep) -> dict[str, Any]:
    """Return the context of the progress and the best cells."""
    options = parse_options(request, sweep)
    return _status(request, sweep, options, cell_rows(sweep, options.metric))


def results_context(request: SignedIn, sweep: Sweep) -> dict[str, Any]:
    """Return the context of the heat map, the parallel coordinates and the table of cells."""
    options = parse_options(request, sweep)
    return _results(request, sweep, options, cell_rows(sweep, options.metric))


def _status(request: SignedIn, sweep: Sweep, options: SweepOptions, rows: Sequence[CellRow]) -> dict[str, Any]:
    status = sweep_status(sweep)
    uids = [run.uid for row in _page(request, rows) for run in row.runs][:MAX_WATCHED]
    return {
        "sweep": sweep, "now": status, "options": options,
        "best": best_cells(rows, direction=options.metric.direction),
        "share": status.ended / status.total if status.total else 0,
        "watch": cursors(list(Run.objects.filter(uid__in=uids))),
        "may_change": may_change(request.user, sweep.experiment),
        "undoable": sweep.cancelled_at is not None and any(state == "cancelled" for state, _ in status.states),
    }  # fmt: skip


def _results(request: SignedIn, sweep: Sweep, options: SweepOptions, rows: Sequence[CellRow]) -> dict[str, Any]:
    page = _page(request, rows)
    return {
        "sweep": sweep, "options": options, "page": page,
        "lines": [(row, runs_url(row.runs)) for row in page],
        "seeds": sorted({run.seed for row in rows for run in row.runs}),
        "heat": heat_map(rows, options),
        "plot": parallel_plot(rows, options),
        "has_values": any(row.summary.n for row in rows),
        "absence": explain_absence(rows, options.metric.key),
        "is_open": any(row.summary.is_open for row in rows),
        "ways": ways_in_words(mixed_ways(rows)),
    }  # fmt: skip


def _page(request: SignedIn, rows: Sequence[CellRow]) -> Any:
    return Paginator(rows, CELLS_A_PAGE).get_page(request.GET.get("page"))
